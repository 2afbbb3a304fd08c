local token, micros, limits = ARGV[2], ARGV[3], ARGV[4]
local last = last_time(clock)
if not last then return {owner, 'corrupt'} end

-- What to write for a grant with the greater token; nil when it has a greater one.
local function raised(grant)
    local since, has, stays = string.match(grant, '^(%d+)/?(%d*)(!?)$')
    if has == '' then has = string.format('%.0f', since * 1024) end
    if #token < #has or #token == #has and token < has then return nil end
    if tonumber(micros) > last then attempt('SET', clock, micros) end
    return since .. '/' .. token .. stays
end

if held then
    if string.sub(held, 1, 32) ~= owner then return {owner, 'not-held'} end
    local mark, used, grant, rest = string.match(held, '^(s?)(%a?)([^ ;]*)(.*)$', 33)
    local after = raised(grant)
    if not after then return {owner, 'stale'} end
    attempt('SET', lock, owner .. mark .. used .. after .. rest, 'KEEPTTL')
    return {owner, 'raised'}
end
needs(clock, 1, 'SET')
