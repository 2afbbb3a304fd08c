local owner, mine, ttl, letter, label, how = unpack(ARGV, 1, 6)
local writes = how == 'w'
local left = attempt('PTTL', lock)
if left == -2 then
    needs(lock, 2, 'HSET')
    needs(lock, 1, 'PEXPIRE')
    local fresh, why = grant(how == 'f')
    if not fresh then return {owner, why} end
    local field = mine .. ':' .. letter .. fresh .. ':' .. label
    if writes then
        redis.call('HSET', lock, 'mode', 'write', field .. ':write', 1)
    else
        redis.call('HSET', lock, field, 1)
    end
    redis.call('PEXPIRE', lock, ttl)
    return {owner, 'granted', fresh, tonumber(ttl)}
end
local mode = mode_of()
if not mode then return {owner, 'type'} end
-- A lock for readers and writers has a mode, and any other has none.
if writes ~= (mode ~= '') then return {owner, 'kind'} end
local field = sole(mine)
if field then return {owner, 'granted', number_of(field, mine), left} end
-- Of a lock of Redisson's nobody knows what it is used as.
local alone = not writes and attempt('HLEN', lock) == 1 and attempt('HKEYS', lock)[1] or ''
local used = string.match(alone, '^:tenure:(%a?)=?%d+:', 37)
if used and used ~= letter then return {owner, 'kind'} end
if mode == 'read' and attempt('HEXISTS', lock, mine) == 1 and lasts(mine, 1) > 0 then return {owner, 'mode'} end
return busy(owner, mode, left)
