local owner, mine, ttl, label, most, verb, channel = unpack(ARGV, 1, 7)
local left, lease = attempt('PTTL', lock), leases(mine) .. '1'
local mode = ''
if left ~= -2 then
    mode = mode_of()
    if not mode then return {owner, 'type'} end
    if mode == '' then return {owner, 'kind'} end
end
local record = left ~= -2 and attempt('HEXISTS', lock, mine) == 1 and attempt('GET', lease)
if record then return {owner, 'granted', string.match(record, '^%d+') or '', attempt('PTTL', lease)} end
local wrote = mode == 'write' and sole(mine)
if mode == 'write' and not wrote then return busy(owner, mode, left) end
if not wrote and left ~= -2 and attempt('HLEN', lock) > tonumber(most) then return busy(owner, mode, left) end
for _, command in ipairs({'HSET', 'SET', 'PEXPIRE', 'HDEL'}) do
    local key, more = command == 'SET' and lease or lock, command == 'HSET' and 2 or 1
    needs(key, more, command)
end
if wrote then
    -- A writer becomes a reader under the same token and lease, and lets others in.
    local number = number_of(wrote, mine)
    redis.call('HDEL', lock, wrote)
    redis.call('HSET', lock, 'mode', 'read', mine, 1)
    redis.call('SET', lease, string.sub(wrote, #mine + 2, -7), 'PX', math.max(left, 1))
    announce(verb, channel, '1')
    return {owner, 'granted', number, left}
end
local fresh, why = grant(false)
if not fresh then return {owner, why} end
redis.call('HSET', lock, 'mode', 'read', mine, 1)
redis.call('SET', lease, fresh .. ':' .. label, 'PX', ttl)
if left < tonumber(ttl) then redis.call('PEXPIRE', lock, ttl) end
return {owner, 'granted', fresh, tonumber(ttl)}
