-- More than one holder alone: the lock's key is a hash of records and counts, `queue` has the
-- places of those who are present, `keeps` the ends of all places, `ends` those of holds and offers.
-- What changes in the hash and in `ends` is written at the end, with few commands.
if not redis.acl_check_cmd('DEL', lock, queue, keeps, ends) then return refused('DEL') end
needs(lock, 'HGET', 'HSET', 'HDEL', 'PEXPIREAT')
needs(queue, 'ZREM', 'ZCARD', 'ZRANGE', 'PEXPIREAT')
needs(keeps, 'ZREM', 'ZCARD', 'PEXPIREAT')
needs(ends, 'ZADD', 'ZREM', 'PEXPIREAT')
local claim, place_ttl, look, max_waiters, max_holders =
    string.match(limits, '^(%d+) (%d+) (%d+) (%d+) (%d+)$')
claim, place_ttl, look = tonumber(claim), tonumber(place_ttl), tonumber(look)
max_waiters, max_holders = tonumber(max_waiters), tonumber(max_holders)
local room, next_place, till, wakes = {n = 0, x = 0, s = 0, p = 0}, 0, 0, {}
-- Records by field and ends by member as they are to be; false for what is gone.
local records, changed, scores, moved = {}, {}, {}, {}
-- Whether `scores` has all ends, whether places are kept, and which keys may have no ttl yet.
local all_ends, kept, bare = true, false, {}

local function whole(number)
    return string.format('%.0f', number)
end

local function parse(text)
    local kind, take, of = string.match(text, '^(%a) ?(%d*)[ /]?(%d*)$')
    return {kind, tonumber(take) or 1, tonumber(of) or 0}
end

local function read(field)
    if records[field] == nil then
        local record = redis.call('HGET', lock, field)
        records[field] = record and cmsgpack.unpack(record)
    end
    return records[field]
end

local function write(field, record)
    records[field], changed[field] = record, true
end

local function end_of(member)
    if scores[member] == nil and not all_ends then
        scores[member] = tonumber(redis.call('ZSCORE', ends, member) or nil) or false
    end
    return scores[member]
end

local function set_end(member, at)
    scores[member], moved[member] = at, true
end

local function count(mode, sign)
    room.n = room.n + sign
    room[mode[1]] = room[mode[1]] + sign * mode[2]
end

local function fits(taken, mode)
    if taken.n >= max_holders then return false end
    if mode[1] == 'x' then return taken.n == 0 end
    if mode[1] == 's' then return taken.x == 0 and taken.p == 0 end
    return taken.x == 0 and taken.s == 0 and taken.p + mode[2] <= mode[3]
end

-- Reads what there is; false when it makes no sense, as after the eviction of one key of several.
local function load()
    local hash = not held
    if hash and not counts[1] then
        hash = attempt('PEXPIRETIME', lock) ~= -2
    end
    if not hash then
        local left
        if held then left = attempt('PEXPIRETIME', lock) * 1000 end
        local mark, used, grant, has, shown =
            string.match(held or '', '^(s?)(%a?)([^ ;]*);?([^ ]*) (.*)$', 33)
        -- Without an end, as after PERSIST, nobody knows when the lease is over.
        if held and (not grant or left < 0) then return false end
        -- The record, or what a lock left that somebody deleted by hand or that was evicted.
        redis.call('DEL', lock, queue, keeps, ends)
        if held then
            local alone = {mark == 's' and 's' or 'x', 1, 0, grant, '', 0, shown}
            if has ~= '' then alone[1], alone[2], alone[3] = unpack(parse('p ' .. has)) end
            if used ~= '' then alone[8] = used end
            write('h' .. string.sub(held, 1, 32), alone)
            set_end('h' .. string.sub(held, 1, 32), left)
            count(alone, 1)
        end
        return true
    end
    for index, field in ipairs({'n', 'x', 's', 'p'}) do
        room[field] = tonumber(counts[index] or '')
        if not room[field] then return false end
    end
    next_place, till = tonumber(counts[5] or '') or 0, tonumber(counts[6] or '') or 0
    records['h' .. owner] = counts[7] and cmsgpack.unpack(counts[7])
    records['w' .. owner] = counts[8] and cmsgpack.unpack(counts[8])
    local soon = attempt('ZRANGE', ends, 0, 16, 'WITHSCORES')
    for index = 1, #soon, 2 do scores[soon[index]] = tonumber(soon[index + 1]) end
    all_ends = #soon < 34
    if not all_ends then needs(ends, 'ZSCORE', 'ZREVRANGE', 'ZRANGEBYSCORE', 'ZCARD') end
    bare.ends = #soon == 0
    local first = attempt('ZRANGE', keeps, 0, 0, 'WITHSCORES')
    kept = first[2] and tonumber(first[2])
    if kept and kept <= now then needs(keeps, 'ZRANGEBYSCORE') end
    if all_ends then return #soon == room.n * 2 end
    return redis.call('ZCARD', ends) == room.n
end

local function withdraw(who, waiter)
    if end_of('o' .. who) then
        set_end('o' .. who, false)
        count(waiter, -1)
    end
end

local function leave(who)
    local waiter = read('w' .. who)
    if not waiter then return false end
    withdraw(who, waiter)
    write('w' .. who, false)
    redis.call('ZREM', keeps, who)
    redis.call('ZREM', queue, who)
    return true
end

local function let_go(who)
    local holder = read('h' .. who)
    if not holder or holder[6] == 1 then return false end
    write('h' .. who, false)
    set_end('h' .. who, false)
    count(holder, -1)
    return true
end

local function expire()
    local over = {}
    for member, at in pairs(scores) do
        if at and at <= now then over[#over + 1] = member end
    end
    if #over > 0 and not all_ends then over = redis.call('ZRANGEBYSCORE', ends, '-inf', now) end
    for _, member in ipairs(over) do
        local kind, who = string.sub(member, 1, 1), string.sub(member, 2)
        set_end(member, false)
        if kind == 'h' then
            count(read(member), -1)
            write(member, false)
        else
            count(read('w' .. who), -1)
            redis.call('ZREM', queue, who)
        end
    end
    if not kept or kept > now then return end
    for _, who in ipairs(redis.call('ZRANGEBYSCORE', keeps, '-inf', now)) do
        leave(who)
        redis.call('ZREM', keeps, who)
    end
end

local function offer()
    local from, step = 0, 1
    while room.x == 0 do
        local line = redis.call('ZRANGE', queue, from, from + step - 1)
        for _, who in ipairs(line) do
            if not end_of('o' .. who) then
                local waiter = read('w' .. who)
                if not waiter or not fits(room, waiter) then return end
                count(waiter, 1)
                set_end('o' .. who, now + claim)
                wakes[#wakes + 1] = {waiter[5], who}
            end
        end
        if #line < step then return end
        from, step = from + step, 16
    end
end

local function others()
    return redis.call('ZCARD', queue) > 0 and 1 or 0
end

-- Until when the keys are needed. Every place ends within a place ttl.
local function needed()
    local last = kept and now + place_ttl or 0
    if not all_ends then
        local latest = redis.call('ZREVRANGE', ends, 0, 0, 'WITHSCORES')
        last = math.max(last, tonumber(latest[2] or 0))
    end
    for _, at in pairs(scores) do
        if at and at > last then last = at end
    end
    return last
end
