-- It stays taken for a while, by nobody.
if type(held) == 'string' then
    attempt('SET', KEYS[1], string.rep('-', 32) .. string.sub(held, 33), 'PX', ARGV[3])
    return ARGV[1]
end
