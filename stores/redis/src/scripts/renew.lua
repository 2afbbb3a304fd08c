local holder = read('h' .. owner)
if not holder or holder[6] == 1 then
    offer()
    return save({owner, 'lost'})
end
local until_now = tonumber(redis.call('ZSCORE', ends, 'h' .. owner))
local upto = math.max(until_now, now + ttl * 1000)
-- A server out of memory refuses the second of these unless the script has written before.
redis.call('PEXPIREAT', lock, math.ceil(math.max(upto, latest(ends), latest(keeps)) / 1000))
redis.call('ZADD', ends, upto, 'h' .. owner)
offer()
return save({owner, 'renewed', math.floor((upto - now) / 1000), others()})
