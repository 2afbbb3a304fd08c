-- Calls a command with as many words as a call can have at a time.
local function all(command, key, words)
    for from = 1, #words, 1000 do
        redis.call(command, key, unpack(words, from, math.min(from + 999, #words)))
    end
end

-- Who has the lock for itself or is offered it so, as the head says it, and until when; or when the
-- first of those who share it may end.
local function said()
    if room.x == 0 then
        local first = math.huge
        for _, at in pairs(scores) do
            if at and at < first then first = at end
        end
        return '', first < math.huge and first or 0
    end
    for member, at in pairs(scores) do
        if at and string.sub(member, 1, 1) == 'o' then return member, at, member end
        if at then
            local record = records[member]
            local kind = record[LINGERS] == 1 and 'l' or 'h'
            local text = (record[USE] or '') .. record[GRANT] .. ' ' .. record[LABEL]
            return kind .. string.sub(member, 2) .. text, at, member
        end
    end
end

-- Writes what changed. The keys end by themselves a moment after the last thing
-- that is in them, or about a minute: their ttls need not be moved each time.
local function save(reply, permitted)
    local waiters = kept()
    if room.n == 0 and waiters == 0 then
        redis.call('DEL', lock, line, ends)
        return reply
    end
    local last = needed(waiters)
    local moves = last > till or till > last + 60000000
    if moves then till = last + 1000000 end
    local at = math.ceil(till / 1000)
    -- A server out of memory refuses more to a script that has not written before, so what it
    -- permits comes first. What is added to `ends` comes before what goes: it keeps its ttl.
    if moves or permitted then redis.call('PEXPIREAT', lock, at) end
    local text, upto, sole = said()
    local fields = {'x', text, 'end', upto, 'due', waiters > 0 and due or '', 'till', till,
        'next', next_place, 'present', in_line(), 'places', waiters,
        'n', room.n - room.x, 's', room.s, 'p', room.p}
    local gone, added, over = {}, {}, {}
    for field in pairs(changed) do
        local record = records[field]
        if record and field ~= sole then
            fields[#fields + 1] = field
            fields[#fields + 1] = cmsgpack.pack(record)
        elseif field ~= was_sole and (shared or not record) then
            gone[#gone + 1] = field
        end
    end
    all('HDEL', lock, gone)
    all('HSET', lock, fields)
    -- Who goes on sharing what it had for itself is listed from now on.
    if was_sole and was_sole ~= sole and scores[was_sole] then moved[was_sole] = true end
    for member in pairs(moved) do
        local score = scores[member]
        if score and member ~= sole then
            added[#added + 1] = score
            added[#added + 1] = member
        elseif shared then
            over[#over + 1] = member
        end
    end
    all('ZADD', ends, added)
    all('ZREM', ends, over)
    if moves then redis.call('PEXPIREAT', lock, at) end
    if #added > 0 and (moves or not shared) or moves and shared then
        redis.call('PEXPIREAT', ends, at)
    end
    if waiters > 0 and (moves or joined) then redis.call('PEXPIREAT', line, at) end
    return reply
end
