local held = redis.pcall('GET', KEYS[1])
if not held then return {ARGV[1], 'not-held'} end
if type(held) == 'string' then
    if string.sub(held, 1, 32) ~= ARGV[1] then return {ARGV[1], 'not-held'} end
    redis.call('DEL', KEYS[1])
    return ARGV[1]
elseif string.sub(held.err, 1, 9) ~= 'WRONGTYPE' then
    return held
end
return {ARGV[1], 'crowd'}
