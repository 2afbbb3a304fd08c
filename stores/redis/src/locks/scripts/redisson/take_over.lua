local owner, from, mine, ttl, letter, label, how = unpack(ARGV, 1, 7)
local left = attempt('PTTL', lock)
local mode = left ~= -2 and mode_of()
if not mode then return {owner, 'not-held'} end
local reads = how == 's'
local lease = leases(mine) .. '1'
local field = sole(mine)
if field and not reads then return {owner, 'granted', number_of(field, mine), left} end
local record = attempt('HEXISTS', lock, mine) == 1 and attempt('GET', lease)
if record and reads then return {owner, 'granted', string.match(record, '^%d+') or '', attempt('PTTL', lease)} end
local before = sole(from)
local read = not before and attempt('HEXISTS', lock, from) == 1 and lasts(from, 1) > 0
if not before and not read then return {owner, 'not-held'} end
if reads ~= read or (how == 'w') ~= (mode == 'write') then return {owner, 'mode'} end
for _, command in ipairs({'HSET', 'HDEL', 'PEXPIRE'}) do needs(lock, command == 'HSET' and 2 or 1, command) end
if read then
    needs(lease, 1, 'SET')
    needs(leases(from) .. '1', 0, 'DEL')
end
local fresh, why = grant(how == 'f')
if not fresh then return {owner, why} end
redis.call('HDEL', lock, before or from)
if read then
    redis.call('DEL', leases(from) .. '1')
    redis.call('HSET', lock, 'mode', 'read', mine, 1)
    redis.call('SET', lease, fresh .. ':' .. label, 'PX', ttl)
    if left < tonumber(ttl) then redis.call('PEXPIRE', lock, ttl) end
else
    local named = mine .. ':' .. letter .. fresh .. ':' .. label
    if how == 'w' then
        redis.call('HSET', lock, 'mode', 'write', named .. ':write', 1)
    else
        redis.call('HSET', lock, named, 1)
    end
    redis.call('PEXPIRE', lock, ttl)
end
return {owner, 'granted', fresh, tonumber(ttl)}
