-- The usual hand-off of permits: they go to those in line whom they suffice.
if short and sole == '' and n > 1 and s == 0 and places > 0 and holds and keep == '0' and not waits
    and redis.acl_check_cmd('HSET', lock, '', '') and redis.acl_check_cmd('HDEL', lock, '')
    and redis.acl_check_cmd('HGET', lock, '') and redis.acl_check_cmd('ZRANGEBYSCORE', line, '', '')
    and redis.acl_check_cmd('ZREM', ends, '') and redis.acl_check_cmd('ZADD', ends, '', '')
    and redis.acl_check_cmd('ZSCORE', ends, '') then
    local claim, place_ttl, most, counted = string.match(limits, '^(%d+) (%d+) %d+ %d+ (%d+) (%d)$')
    local record, upto, offers = cmsgpack.unpack(holds), now + claim, {}
    local sharing, taken = n - 1, p - record[TAKE]
    local known = record[LINGERS] == 0 and till >= upto and attempt('ZCARD', ends) == n
    local waiters = known and redis.call('ZRANGEBYSCORE', line, '-inf', '(0', 'LIMIT', 0, 8) or {}
    local over = known and #waiters < 8
    for _, member in ipairs(waiters) do
        local who = string.sub(member, 3, 34)
        if not redis.call('ZSCORE', ends, 'o' .. who) then
            local waiter = redis.call('HGET', lock, 'w' .. who)
            waiter = waiter and cmsgpack.unpack(waiter)
            local late = waiter and is_overdue(waiter, place_ttl, counted, now)
            local fits = waiter and waiter[MODE] == 'p' and sharing < tonumber(most) and taken + waiter[TAKE] <= waiter[OF]
            if not late and not fits then
                over = true
                break
            end
            -- Who is passed over is for the larger script.
            if late or not reaches(waiter[CHANNEL], who, counted) then
                over = false
                break
            end
            sharing, taken = sharing + 1, taken + waiter[TAKE]
            offers[#offers + 1], offers[#offers + 2] = upto, 'o' .. who
        end
    end
    if over then
        -- First what a server out of memory permits.
        redis.call('ZREM', ends, 'h' .. owner)
        if #offers > 0 then redis.call('ZADD', ends, unpack(offers)) end
        redis.call('HSET', lock, 'n', sharing, 'p', taken, 'end', math.min(first_end, upto))
        redis.call('HDEL', lock, 'h' .. owner)
        return owner
    end
end
