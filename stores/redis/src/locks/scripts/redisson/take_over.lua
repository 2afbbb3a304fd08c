local owner, from, mine, ttl, letter, label, how = unpack(ARGV, 1, 7)
local left = attempt('PTTL', lock)
local mode = left ~= -2 and mode_of()
if not mode then return {owner, 'not-held'} end
local reads, lease = how == 's', leases(mine) .. '1'
local field = sole(mine)
if field and not reads then return {owner, 'granted', number_of(field, mine), left} end
local record = attempt('HEXISTS', lock, mine) == 1 and attempt('GET', lease)
if record and reads then return {owner, 'granted', string.match(record, '^%d+') or '', attempt('PTTL', lease)} end
local before, lease_before = sole(from), leases(from) .. '1'
local read = not before and attempt('HEXISTS', lock, from) == 1 and lasts(from, 1) > 0
if not before and not read then return {owner, 'not-held'} end
if reads ~= read or (how == 'w') ~= (mode == 'write') then return {owner, 'mode'} end
needs(lock, 2, 'HSET')
needs(lock, 1, 'HDEL', 'PEXPIRE')
if read then
    needs(lease, 1, 'SET')
    needs(lease_before, 0, 'DEL')
end
local fresh, why = grant(how == 'f')
if not fresh then return {owner, why} end
redis.call('HDEL', lock, before or from)
if read then
    redis.call('DEL', lease_before)
    redis.call('HSET', lock, mine, 1)
    redis.call('SET', lease, fresh .. ':' .. label, 'PX', ttl)
else
    local named = mine .. ':' .. letter .. fresh .. ':' .. label
    redis.call('HSET', lock, how == 'w' and named .. ':write' or named, 1)
end
if not read or left < tonumber(ttl) then redis.call('PEXPIRE', lock, ttl) end
return {owner, 'granted', fresh, tonumber(ttl)}
