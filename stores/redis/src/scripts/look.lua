local lock, clock, queue, keeps, ends = unpack(KEYS)
local owner = string.sub(ARGV[1], 1, 32)
local time = attempt('TIME')
local now = time[1] * 1000000 + time[2]
-- Either the counts of a lock that several have or want, or the record of who has it alone.
local held
local counts = redis.pcall('HMGET', lock, 'n', 'x', 's', 'p', 'next', 'till',
    'h' .. owner, 'w' .. owner)
if counts.err then
    if string.sub(counts.err, 1, 9) ~= 'WRONGTYPE' then
        return redis.acl_check_cmd('HMGET', lock) and counts or refused('HMGET')
    end
    if not redis.acl_check_cmd('GET', lock) then return refused('GET') end
    held = redis.pcall('GET', lock)
    if type(held) ~= 'string' then return senseless() end
end
