-- What makes no sense is nobody's, so an operator may take it as a whole, whatever it is.
local function senseless()
    attempt('DEL', KEYS[1], KEYS[3], KEYS[4])
    redis.pcall('PUBLISH', ARGV[3], KEYS[1])
    return {string.sub(ARGV[1], 1, 32), 'evicted'}
end
