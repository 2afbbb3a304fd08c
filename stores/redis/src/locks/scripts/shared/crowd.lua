-- What the short ways do not know: all that can be there. The lock's key is a hash: the head, counts,
-- and a record of each who waits or shares. `line` has the places, `ends` the ends of the holds and
-- offers of those who share. What changes is written at the end, with few commands.
if not redis.acl_check_cmd('DEL', lock, line, ends) then return refused('DEL') end
needs(lock, 1, 'HGET', 'HDEL', 'PEXPIREAT')
needs(lock, 2, 'HSET')
needs(line, 1, 'ZREM', 'PEXPIREAT')
needs(line, 2, 'ZCOUNT', 'ZRANGEBYSCORE')
needs(ends, 2, 'ZADD')
needs(ends, 1, 'ZREM', 'PEXPIREAT')
local room = {n = 0, x = 0, s = 0, p = 0}
-- Records by field and ends by member as they are to be; false for what is gone.
local records, changed, scores, moved = {}, {}, {}, {}
-- Whether `scores` has all ends, or the soonest; whether there are any in `ends`, who had the lock for
-- itself, and whether the line may have no ttl.
local all_ends, shared, was_sole, joined = true, false, false, false

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
    room[mode[MODE]] = room[mode[MODE]] + sign * mode[TAKE]
end

local function fits(taken, mode)
    if taken.n >= max_holders then return false end
    if mode[MODE] == 'x' then return taken.n == 0 end
    if mode[MODE] == 's' then return taken.x == 0 and taken.p == 0 end
    return taken.x == 0 and taken.s == 0 and taken.p + mode[TAKE] <= mode[OF]
end

-- How it is written who has the lock alone: whether it reads, what the name is used as, the grant, the
-- permits that it has, and the label.
local function alone(text)
    local mark, used, grant, has, shown = string.match(text, '^(s?)(%a?)([^ ;]*);?([^ ]*) (.*)$', 33)
    if not grant then return nil end
    local mode = has ~= '' and parse('p ' .. has) or {mark == 's' and 's' or 'x', 1, 0}
    return {mode[MODE], mode[TAKE], mode[OF], grant, '', 0, shown, used ~= '' and used or nil}
end

-- Who has it for itself or is offered it so; false when that makes no sense.
local function load_sole()
    local kind, who = string.sub(sole, 1, 1), string.sub(sole, 2, 33)
    if #who ~= 32 or not first_end then return false end
    was_sole = kind == 'o' and 'o' .. who or 'h' .. who
    if kind ~= 'o' then
        local record = alone(string.sub(sole, 2))
        if not record or record[MODE] ~= 'x' or kind ~= 'h' and kind ~= 'l' then return false end
        record[LINGERS] = kind == 'l' and 1 or 0
        records[was_sole] = record
    elseif not read('w' .. who) then
        return false
    end
    scores[was_sole], room.n, room.x = first_end, 1, 1
    return true
end

-- Takes in ends, each behind its member.
local function know(listed)
    for index = 1, #listed, 2 do
        scores[listed[index]] = tonumber(listed[index + 1])
    end
end

-- Reads what there is; false when it makes no sense, as after the eviction of one key of several.
local function load()
    local hash = not held
    if hash and not sole then
        hash = attempt('PEXPIRETIME', lock) ~= -2
    end
    if not hash then
        local left
        if held then left = attempt('PEXPIRETIME', lock) * 1000 end
        local record = held and alone(held)
        -- Without an end, as after PERSIST, nobody knows when the lease is over.
        if held and (not record or left < 0) then return false end
        -- The record, or what a lock left that somebody deleted by hand or that was evicted.
        redis.call('DEL', lock, line, ends)
        till, next_place, places = 0, 0, 0
        if held then
            write('h' .. string.sub(held, 1, 32), record)
            set_end('h' .. string.sub(held, 1, 32), left)
            count(record, 1)
        end
        return true
    end
    if not (sole and till and next_place and present and places and n and s and p) then return false end
    records['h' .. owner] = holds and cmsgpack.unpack(holds)
    records['w' .. owner] = waits and cmsgpack.unpack(waits)
    if sole ~= '' then return n == 0 and s == 0 and p == 0 and load_sole() end
    room.n, room.s, room.p, shared = n, s, p, n > 0
    local soon = attempt('ZRANGE', ends, 0, 16, 'WITHSCORES')
    know(soon)
    all_ends = #soon < 34
    if all_ends then return #soon == n * 2 end
    needs(ends, 1, 'ZSCORE')
    needs(ends, 2, 'ZREVRANGE', 'ZRANGEBYSCORE')
    needs(ends, 0, 'ZCARD')
    return redis.call('ZCARD', ends) == n
end

-- How many are in line.
local function in_line()
    return places == 0 and 0 or redis.call('ZCOUNT', line, '-inf', '(0')
end

-- How many places are kept.
local function kept()
    return places == 0 and 0 or redis.call('ZCOUNT', line, '(0', '+inf')
end

local function spot(who, waiter)
    return 'q' .. waiter[MODE] .. who .. waiter[CHANNEL]
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
    redis.call('ZREM', line, 'k' .. who, spot(who, waiter))
    return true
end

local function let_go(who)
    local holder = read('h' .. who)
    if not holder or holder[LINGERS] == 1 then return false end
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
            local waiter = read('w' .. who)
            count(waiter, -1)
            waiter[PASSED] = 1
            write('w' .. who, waiter)
            redis.call('ZREM', line, spot(who, waiter))
        end
    end
    if #over > 0 and not all_ends then
        know(redis.call('ZRANGEBYSCORE', ends, '(' .. whole(now), '+inf', 'WITHSCORES', 'LIMIT', 0, 17))
    end
    if due > now then return end
    for _, member in ipairs(redis.call('ZRANGEBYSCORE', line, '(0', now)) do
        leave(string.sub(member, 2))
        redis.call('ZREM', line, member)
    end
    local first = redis.call('ZRANGEBYSCORE', line, '(0', '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
    due = tonumber(first[2] or '') or math.huge
end

-- Offers the lock to all at the head of the line who fit. Those who are late, or whom nothing reaches,
-- keep their places until they ask again, and are given the time to claim from then on.
local function offer()
    local from, step = 0, 1
    while places > 0 do
        local waiters, over = redis.call('ZRANGEBYSCORE', line, '-inf', '(0', 'LIMIT', from, step), 0
        for _, member in ipairs(waiters) do
            local who = string.sub(member, 3, 34)
            if room.x > 0 or room.n >= max_holders then return end
            if not end_of('o' .. who) then
                local waiter = read('w' .. who)
                if not waiter then return end
                local passes = is_overdue(waiter, place_ttl, counted, now)
                if not passes and not fits(room, waiter) then return end
                passes = passes or not reaches(waiter[CHANNEL], who, counted) and not waiter[PASSED]
                if passes then
                    waiter[PASSED] = 1
                    write('w' .. who, waiter)
                else
                    count(waiter, 1)
                    set_end('o' .. who, now + claim)
                end
                if passes or waiter[MODE] == 'x' then
                    redis.call('ZREM', line, member)
                    over = over + 1
                end
            end
        end
        if #waiters < step then return end
        from, step = from + step - over, 16
    end
end

-- Whether others wait, or else share the lock.
local function others()
    return in_line() > 0 and 1 or room.n > 1 and 2 or 0
end

-- Until when the keys are needed. Every place ends within a place ttl.
local function needed(kept)
    local last = kept > 0 and now + place_ttl or 0
    if not all_ends then
        local latest = redis.call('ZREVRANGE', ends, 0, 0, 'WITHSCORES')
        last = math.max(last, tonumber(latest[2] or 0))
    end
    for _, at in pairs(scores) do
        if at and at > last then last = at end
    end
    return last
end
