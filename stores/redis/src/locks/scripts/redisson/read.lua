local owner, mine, ttl, label, most, verb, channel = unpack(ARGV, 1, 7)
ttl, most = tonumber(ttl), tonumber(most)

-- Forgets readers of tenure whose leases are over: no other owner is called as they were.
local function sweep()
    needs(lock, 1, 'HDEL')
    local over = {}
    for _, holder in ipairs(holders('read') or {}) do
        local is_ours = string.sub(holder[1], 37) == ':tenure'
        if is_ours and lasts(holder[1], 1) <= 0 then over[#over + 1] = holder[1] end
    end
    for _, field in ipairs(over) do redis.call('HDEL', lock, field) end
end

local left, lease = attempt('PTTL', lock), leases(mine) .. '1'
local mode = ''
if left ~= -2 then
    mode = mode_of()
    if not mode then return {owner, 'type'} end
    if not is_shared(mode) then return {owner, 'kind'} end
end
local record = left ~= -2 and attempt('HEXISTS', lock, mine) == 1 and attempt('GET', lease)
if record then
    local its = attempt('PTTL', lease)
    return {owner, 'granted', string.match(record, '^%d+') or '', left < 0 and its or math.min(its, left)}
end
local wrote = mode == 'write' and sole(mine)
local why_not = not wrote and unfit(false)
if why_not then return {owner, why_not} end
if mode == 'write' and not wrote then return busy(owner, mode, left) end
if mode == 'read' then
    -- Whoever joins others sets a ttl: of what has none, or has other fields, it stays out.
    if left == -1 then return busy(owner, mode, left) end
    if not holders(mode) then return {owner, 'type'} end
    if attempt('HLEN', lock) > most then sweep() end
    if attempt('HLEN', lock) > most then return busy(owner, mode, left) end
end
needs(lease, 1, 'SET')
needs(lock, 2, 'HSET')
needs(lock, 1, 'HDEL', 'PEXPIRE')
if wrote then
    -- A writer becomes a reader under the same token and lease, and lets others in.
    local its = left < 0 and ttl or math.max(math.min(left, ttl), 1)
    redis.call('HDEL', lock, wrote)
    redis.call('HSET', lock, 'mode', 'read', mine, 1)
    redis.call('SET', lease, string.sub(wrote, #mine + 2, -7), 'PX', its)
    if left < 0 then redis.call('PEXPIRE', lock, its) end
    announce(verb, channel, '1')
    return {owner, 'granted', number_of(wrote, mine), its}
end
local fresh, why = grant(false)
if not fresh then return {owner, why} end
redis.call('HSET', lock, 'mode', 'read', mine, 1)
redis.call('SET', lease, fresh .. ':' .. label, 'PX', ttl)
if left < ttl then redis.call('PEXPIRE', lock, ttl) end
return {owner, 'granted', fresh, ttl}
