local lock, clock, line, ends = unpack(KEYS)
local owner = string.sub(ARGV[1], 1, 32)
local time = attempt('TIME')
local now = time[1] * 1000000 + time[2]
-- Either the head of a lock that several have or want, or the record of who has it alone. The head
-- says who has it for itself or is offered it so, and until when; when the first place may end, and
-- the keys; the next place; how many are present, and how many places are kept.
local held
local head = redis.pcall('HMGET', lock, 'x', 'end', 'due', 'till', 'next', 'present', 'places',
    'w' .. owner)
if head.err then
    if string.sub(head.err, 1, 9) ~= 'WRONGTYPE' then
        return redis.acl_check_cmd('HMGET', lock) and head or refused('HMGET')
    end
    if not redis.acl_check_cmd('GET', lock) then return refused('GET') end
    held = redis.pcall('GET', lock)
    if type(held) ~= 'string' then return senseless() end
    head = {}
end
local sole, sole_end, waits = head[1], tonumber(head[2] or ''), head[8]
local due, till = tonumber(head[3] or '') or math.huge, tonumber(head[4] or '')
local next_place, present = tonumber(head[5] or ''), tonumber(head[6] or '')
local places = tonumber(head[7] or '')
-- While one has it for itself, or is offered it so, and nothing is over, there is a short way.
local short = sole and sole ~= '' and sole_end and till and next_place and present and places
    and sole_end > now and due > now
