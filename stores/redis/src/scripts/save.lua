-- Calls a command with as many words as a call can have at a time.
local function all(command, key, words)
    for from = 1, #words, 1000 do
        redis.call(command, key, unpack(words, from, math.min(from + 999, #words)))
    end
end

-- Writes what changed and sends the hints. The keys end by themselves with the last thing that was
-- in them, or about a minute after what is in them: their ttls need not be moved each time.
local function save(reply, renews)
    if room.n == 0 and (not kept or redis.call('ZCARD', keeps) == 0) then
        redis.call('DEL', lock, queue, keeps, ends)
        return reply
    end
    local last = needed()
    local moves = last > till or till > last + 60000000
    if moves then till = last end
    local at = math.ceil(till / 1000)
    -- A server out of memory refuses more to a script that has not written before, so what it
    -- permits comes first. What is added to `ends` comes before what goes: it keeps its ttl.
    if moves or renews then redis.call('PEXPIREAT', lock, at) end
    local fields = {'n', room.n, 'x', room.x, 's', room.s, 'p', room.p,
        'next', next_place, 'till', whole(till)}
    local gone = {}
    for field in pairs(changed) do
        local record = records[field]
        if record then
            fields[#fields + 1] = field
            fields[#fields + 1] = cmsgpack.pack(record)
        else
            gone[#gone + 1] = field
        end
    end
    all('HDEL', lock, gone)
    all('HSET', lock, fields)
    local added, over = {}, {}
    for member in pairs(moved) do
        local score = scores[member]
        if score then
            added[#added + 1] = whole(score)
            added[#added + 1] = member
        else
            over[#over + 1] = member
        end
    end
    all('ZADD', ends, added)
    all('ZREM', ends, over)
    if moves then
        redis.call('PEXPIREAT', lock, at)
        bare = {queue = true, keeps = true, ends = true}
    end
    if bare.ends then redis.call('PEXPIREAT', ends, at) end
    if bare.keeps then redis.call('PEXPIREAT', keeps, at) end
    if bare.queue then redis.call('PEXPIREAT', queue, at) end
    for _, wake in ipairs(wakes) do
        redis.pcall('PUBLISH', wake[1], wake[2])
    end
    return reply
end
