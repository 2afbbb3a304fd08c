local held = redis.pcall('GET', KEYS[1])
if not held then return {ARGV[1], 'not-held'} end
if type(held) == 'string' then
    if string.sub(held, 1, 32) ~= ARGV[1] then return {ARGV[1], 'not-held'} end
    held = redis.pcall('DEL', KEYS[1])
    if held == 1 then return ARGV[1] end
end
if string.sub(held.err, 1, 9) == 'WRONGTYPE' then return {ARGV[1], 'crowd'} end
