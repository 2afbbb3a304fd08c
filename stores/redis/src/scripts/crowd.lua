-- More than one holder alone: the lock's key is a hash of records and counts, `queue` has the
-- places of those who are present, `keeps` the ends of all places, `ends` those of holds and offers.
local claim, place_ttl, look, max_waiters, max_holders =
    string.match(limits, '^(%d+) (%d+) (%d+) (%d+) (%d+)$')
claim, place_ttl, look = tonumber(claim), tonumber(place_ttl), tonumber(look)
max_waiters, max_holders = tonumber(max_waiters), tonumber(max_holders)
local room, next_place, wakes = {n = 0, x = 0, s = 0, p = 0}, 0, {}

local function whole(number)
    return string.format('%.0f', number)
end

local function parse(text)
    local kind, take, of = string.match(text, '^(%a) ?(%d*) ?(%d*)$')
    return {kind, tonumber(take) or 1, tonumber(of) or 0}
end

local function read(field)
    local record = redis.call('HGET', lock, field)
    return record and cmsgpack.unpack(record)
end

local function write(field, record)
    redis.call('HSET', lock, field, cmsgpack.pack(record))
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
    if type(held) ~= 'table' then
        if held then
            local mark, grant, shown = string.match(held, '^(s?)([^ ]*) (.*)$', 33)
            if not grant then return false end
            local alone = {mark == 's' and 's' or 'x', 1, 0, grant, '', 0, shown}
            local holder = 'h' .. string.sub(held, 1, 32)
            local left = redis.call('PEXPIRETIME', lock) * 1000
            redis.call('DEL', lock, queue, keeps, ends)
            write(holder, alone)
            redis.call('ZADD', ends, left, holder)
            count(alone, 1)
        else
            -- What a lock left that somebody deleted by hand, or that was evicted.
            redis.call('DEL', queue, keeps, ends)
        end
        return true
    end
    local counts = redis.pcall('HMGET', lock, 'n', 'x', 's', 'p', 'next')
    for index, field in ipairs({'n', 'x', 's', 'p'}) do
        room[field] = tonumber(counts[index] or '')
        if not room[field] then return false end
    end
    next_place = tonumber(counts[5] or '') or 0
    return redis.call('ZCARD', ends) == room.n
end

local function withdraw(who, waiter)
    if redis.call('ZREM', ends, 'o' .. who) == 1 then count(waiter, -1) end
end

local function leave(who)
    local waiter = read('w' .. who)
    if not waiter then return false end
    withdraw(who, waiter)
    redis.call('HDEL', lock, 'w' .. who)
    redis.call('ZREM', keeps, who)
    redis.call('ZREM', queue, who)
    return true
end

local function let_go(who)
    local holder = read('h' .. who)
    if not holder or holder[6] == 1 then return false end
    redis.call('HDEL', lock, 'h' .. who)
    redis.call('ZREM', ends, 'h' .. who)
    count(holder, -1)
    return true
end

local function expire()
    for _, member in ipairs(redis.call('ZRANGEBYSCORE', ends, '-inf', now)) do
        local kind, who = string.sub(member, 1, 1), string.sub(member, 2)
        redis.call('ZREM', ends, member)
        if kind == 'h' then
            count(read(member), -1)
            redis.call('HDEL', lock, member)
        else
            count(read('w' .. who), -1)
            redis.call('ZREM', queue, who)
        end
    end
    for _, who in ipairs(redis.call('ZRANGEBYSCORE', keeps, '-inf', now)) do
        leave(who)
        redis.call('ZREM', keeps, who)
    end
end

local function offer()
    local from = 0
    while room.x == 0 do
        local line = redis.call('ZRANGE', queue, from, from + 15)
        for _, who in ipairs(line) do
            if not redis.call('ZSCORE', ends, 'o' .. who) then
                local waiter = read('w' .. who)
                if not waiter or not fits(room, waiter) then return end
                count(waiter, 1)
                redis.call('ZADD', ends, now + claim, 'o' .. who)
                wakes[#wakes + 1] = {waiter[5], who}
            end
        end
        if #line < 16 then return end
        from = from + 16
    end
end

local function others()
    return redis.call('ZCARD', queue) > 0 and 1 or 0
end

local function latest(key)
    return tonumber(redis.call('ZREVRANGE', key, 0, 0, 'WITHSCORES')[2] or 0)
end

-- Writes the counts, lets every key end with the last thing in it, and sends the hints.
local function save(reply)
    local last = math.max(latest(ends), latest(keeps))
    if last == 0 then
        redis.call('DEL', lock, queue, keeps, ends)
    else
        redis.call('HSET', lock, 'n', room.n, 'x', room.x, 's', room.s, 'p', room.p,
            'next', next_place)
        local at = math.ceil(last / 1000)
        for _, key in ipairs({lock, queue, keeps, ends}) do
            redis.call('PEXPIREAT', key, at)
        end
    end
    for _, wake in ipairs(wakes) do
        redis.pcall('PUBLISH', wake[1], wake[2])
    end
    return reply
end

if not load() then return {owner, 'corrupt'} end
expire()
