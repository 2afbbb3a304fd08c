-- What makes no sense is nobody's, so an operator may take it as a whole, whatever it is.
local function senseless()
    if ARGV[4] ~= '' then return {string.sub(ARGV[1], 1, 32), 'corrupt'} end
    attempt('DEL', KEYS[1], KEYS[3], KEYS[4])
    redis.pcall('PUBLISH', ARGV[3], KEYS[1])
    return {string.sub(ARGV[1], 1, 32), 'evicted'}
end
