local limits = ARGV[2]
if held then
    local mark, used, grant, label = string.match(held, '^(s?)(%a?)([^ ]*) (.*)$', 33)
    if not grant then return senseless() end
    local left = attempt('PTTL', lock)
    attempt('DEL', lock)
    redis.pcall('PUBLISH', ARGV[3], lock)
    return {owner, 'evicted', {mark == 's' and 's' or 'x', grant, left, 0, label, used}}
end
