-- Others use the same key: it is deleted only if it begins with the owner. Waiters hear of it, unless this
-- user may not tell them.
local held = redis.pcall('GETRANGE', KEYS[1], 0, 1023)
if type(held) == 'string' and string.sub(held, 1, 32) == ARGV[1] then
    if not ARGV[3] then
        held = redis.pcall('DEL', KEYS[1])
        if held == 1 then
            -- Others look now and then: for 100 ms it is left to them, and then for a second not.
            if KEYS[2] then redis.pcall('SET', KEYS[2], 'theirs', 'NX', 'PX', 1100) end
            redis.pcall('PUBLISH', ARGV[2], KEYS[1])
            return ARGV[1]
        end
    end
elseif type(held) ~= 'table' or string.sub(held.err, 1, 9) == 'WRONGTYPE' then
    return {ARGV[1], 'not-held'}
end
