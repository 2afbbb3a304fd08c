-- Of whom it is to be taken alone, if it is not to be taken of all.
local limits, only = ARGV[2], ARGV[4]
if held then
    local mark, used, grant, has, label = string.match(held, '^(s?)(%a?)([^ ;]*);?([^ ]*) (.*)$', 33)
    if not grant then return senseless() end
    if only ~= '' and string.sub(held, 1, 32) ~= only then return {owner, 'evicted'} end
    local left = attempt('PTTL', lock)
    attempt('DEL', lock)
    redis.pcall('PUBLISH', ARGV[3], lock)
    local mode = has ~= '' and 'p ' .. has or mark == 's' and 's' or 'x'
    return {owner, 'evicted', {mode, grant, left, 0, label, used, string.sub(held, 1, 32)}}
end
