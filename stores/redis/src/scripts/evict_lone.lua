local limits = ARGV[2]
if held then
    local mark, used, grant, has, label = string.match(held, '^(s?)(%a?)([^ ;]*);?([^ ]*) (.*)$', 33)
    if not grant then return senseless() end
    local left = attempt('PTTL', lock)
    attempt('DEL', lock)
    redis.pcall('PUBLISH', ARGV[3], lock)
    local mode = has ~= '' and 'p ' .. has or mark == 's' and 's' or 'x'
    return {owner, 'evicted', {mode, grant, left, 0, label, used}}
end
