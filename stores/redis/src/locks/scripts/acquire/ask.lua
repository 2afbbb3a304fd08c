local mode = {kind, take, of}

local function repeated()
    local holder = read('h' .. owner)
    if not holder or holder[LINGERS] == 1 then return nil end
    if holder[MODE] == 'x' and mode[MODE] == 's' or holder[MODE] == 'p' and mode[MODE] == 'p'
        and holder[TAKE] == mode[TAKE] then
        count(holder, -1)
        count(mode, 1)
        holder[MODE], holder[TAKE], holder[OF] = unpack(mode)
        write('h' .. owner, holder)
    elseif holder[MODE] ~= mode[MODE] or holder[TAKE] ~= mode[TAKE] then
        return {owner, 'mode'}
    end
    local left = end_of('h' .. owner) - now
    return {owner, 'granted', holder[GRANT], math.floor(left / 1000), others()}
end

local function may_enter(taken, before)
    if not fits(taken, mode) then return false end
    local from = 0
    while true do
        local waiters = redis.call('ZRANGEBYSCORE', line, '-inf', before, 'LIMIT', from, 16)
        for _, member in ipairs(waiters) do
            local who = string.sub(member, 3, 34)
            if who ~= owner and not end_of('o' .. who) then
                local waiter = read('w' .. who)
                if not waiter then return false end
                if not is_overdue(waiter, place_ttl, counted, now) then
                    if not fits(taken, waiter) then return false end
                    taken.n = taken.n + 1
                    taken[waiter[MODE]] = taken[waiter[MODE]] + waiter[TAKE]
                end
            end
        end
        if #waiters < 16 then return fits(taken, mode) end
        from = from + 16
    end
end

local function enters(waiter)
    if read('h' .. owner) then return false end
    local taken = {n = room.n, x = room.x, s = room.s, p = room.p}
    if waiter and end_of('o' .. owner) then
        if waiter[MODE] == mode[MODE] and waiter[TAKE] == mode[TAKE] and waiter[OF] == mode[OF] then
            return true
        end
        taken.n = taken.n - 1
        taken[waiter[MODE]] = taken[waiter[MODE]] - waiter[TAKE]
    end
    if barges then return fits(taken, mode) end
    local before = '(0'
    if waiter then
        before = '(' .. whole(score(waiter[PLACE]))
    elseif place ~= '' then
        before = score(place)
    end
    return may_enter(taken, before)
end

local function keep_place(waiter)
    if not waiter then
        local at = tonumber(place) or next_place
        next_place = math.max(next_place, at + 1)
        waiter = {mode[MODE], mode[TAKE], mode[OF], at, channel, now, label, use or ''}
    else
        withdraw(owner, waiter)
        local before = spot(owner, waiter)
        waiter[MODE], waiter[TAKE], waiter[OF] = unpack(mode)
        -- It is here: when it asks again is told with the answer.
        waiter[CHANNEL], waiter[USE], waiter[ASKS_AT] = channel, use or '', nil
        if spot(owner, waiter) ~= before then redis.call('ZREM', line, before) end
    end
    write('w' .. owner, waiter)
    redis.call('ZADD', line, score(waiter[PLACE]), spot(owner, waiter), now + place_ttl, 'k' .. owner)
    due, places, joined = math.min(due, now + place_ttl), places + 1, true
    return waiter[PLACE]
end

-- How many are before this place, or wait if there is none, and how many of them are offered the lock.
local function before_it(at)
    local ahead, offered = 0, 0
    if places > 0 then
        ahead = redis.call('ZCOUNT', line, '-inf', '(' .. (at and whole(score(at)) or '0'))
        local own = not at and read('w' .. owner)
        if own and redis.call('ZSCORE', line, spot(owner, own)) then ahead = ahead - 1 end
    end
    for member, until_then in pairs(scores) do
        if until_then and string.sub(member, 1, 1) == 'o' and member ~= 'o' .. owner
            and (not at or read('w' .. string.sub(member, 2))[PLACE] < at) then
            offered = offered + 1
        end
    end
    -- Who is offered the lock for itself is in line no more.
    if room.x == 1 then ahead = ahead + offered end
    return ahead, offered
end

local function busy(at)
    local ahead, offered = before_it(at)
    -- Those that end soonest are known, however many there are.
    local change, first
    for member, at in pairs(scores) do
        if at and member ~= 'o' .. owner then
            if not change or at - now < change then change = at - now end
            local holds = string.sub(member, 1, 1) == 'h'
            if holds and (not first or at < scores[first]) then first = member end
        end
    end
    change = change or 0
    local waiter = read('w' .. owner)
    -- What was passed over before may hear nothing, so it looks often enough to claim what it is offered.
    local often = waiter and waiter[PASSED] and math.min(look, claim / 2) or look
    local retry = retry_after(change, ahead - offered, offered, claim, often, place_ttl, counted)
    if at and waiter then waiter[ASKS_AT] = now + retry end
    local holder = first and read(first)
    local reply = {owner, 'busy', retry, ahead, at and whole(at) or ''}
    if holder then
        local shown = holder[MODE]
        if shown == 'p' then shown = 'p ' .. holder[TAKE] .. ' ' .. holder[OF] end
        local left = math.floor((scores[first] - now) / 1000)
        for _, field in ipairs({shown, holder[GRANT], left, holder[LINGERS], holder[LABEL], holder[USE] or ''}) do
            reply[#reply + 1] = field
        end
    end
    return reply
end

local function decide()
    local waiter = read('w' .. owner)
    if enters(waiter) then
        local grant = whole(math.max(now + ahead * 1000000, last + 1))
        redis.call('SET', clock, grant)
        leave(owner)
        write('h' .. owner, {mode[MODE], mode[TAKE], mode[OF], grant, '', 0, label, use})
        set_end('h' .. owner, now + ttl * 1000)
        count(mode, 1)
        local reply = {owner, 'granted', grant, tonumber(ttl), others()}
        offer()
        return reply
    end
    local at = false
    -- Who let the lock go and keeps it taken has nothing to wait for.
    if not tries and not read('h' .. owner) then
        local waiting = kept()
        if not waiter and waiting >= max_waiters then return {owner, 'full', waiting} end
        at = keep_place(waiter)
    end
    offer()
    return busy(at)
end

local reply = repeated()
if reply then
    offer()
    return save(reply)
end
if old then
    local waiting = kept()
    if not tries and waiting >= max_waiters and not read('w' .. owner) and not read('w' .. old) then
        return save({owner, 'full', waiting})
    end
    let_go(old)
    leave(old)
    offer()
end
return save(decide())
