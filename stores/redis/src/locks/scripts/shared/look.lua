local lock, clock, line, ends = unpack(KEYS)
local owner = string.sub(ARGV[1], 1, 32)
local time = attempt('TIME')
local now = time[1] * 1000000 + time[2]
-- Either the head of a lock that several have or want, or the record of who has it alone. The head
-- says who has it for itself or is offered it so, and when that ends, or may end for one of those
-- who share it; when the first place may end, and the keys; the next place; how many are present, how
-- many places are kept, and how many share it and how.
local held
local head = redis.pcall('HMGET', lock, 'x', 'end', 'due', 'till', 'next', 'present', 'places',
    'n', 's', 'p', 'w' .. owner, 'h' .. owner)
if head.err then
    if string.sub(head.err, 1, 9) ~= 'WRONGTYPE' then
        return redis.acl_check_cmd('HMGET', lock, '') and head or refused('HMGET')
    end
    if not redis.acl_check_cmd('GET', lock) then return refused('GET') end
    held = redis.pcall('GET', lock)
    if type(held) ~= 'string' then return senseless() end
    head = {}
end
local sole, first_end = head[1], tonumber(head[2] or '')
local due, till = tonumber(head[3] or '') or math.huge, tonumber(head[4] or '')
local next_place, present = tonumber(head[5] or ''), tonumber(head[6] or '')
local places, waits, holds = tonumber(head[7] or ''), head[11], head[12]
local n, s, p = tonumber(head[8] or ''), tonumber(head[9] or ''), tonumber(head[10] or '')
-- Where it is not known when the first place ends, it has to be looked up.
if places and places > 0 and due == math.huge then due = 0 end
-- While nothing is over there is a short way for what is usual.
local short = sole and first_end and till and next_place and present and places and n and s and p
    and first_end > now and due > now
