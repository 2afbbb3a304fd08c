-- Names that several callers want at the same time, each for itself: many in one script cost the
-- server half of as many scripts. Each is granted as grant.lua grants one. What that leaves to the
-- larger scripts, as others are there or something is odd, is as it was, and the answer is none.
local time = redis.pcall('TIME')
if time.err then return redis.error_reply('NOPERM this user may not run TIME') end
local micros = time[2]
if #micros < 6 then micros = string.rep('0', 6 - #micros) .. micros end
local now = (ahead > 0 and string.format('%.0f', time[1] + ahead) or time[1]) .. micros
local answers = {ARGV[1] and string.sub(ARGV[1], 1, 32)}
local function grant(lock, clock, owner, ttl, label)
    local held = redis.pcall('SET', lock, owner .. now .. label, 'NX', 'PX', ttl, 'GET')
    if held then
        -- A server that takes no writes says so.
        local said = type(held) == 'table' and string.sub(held.err, 1, 9) ~= 'WRONGTYPE'
        return said and redis.acl_check_cmd('SET', lock, '') and held
    end
    local last = redis.pcall('SET', clock, now, 'GET')
    -- Texts of one length compare as their numbers do.
    if not last or type(last) == 'string' and #last == #now and last < now then return now end
    local text = type(last) == 'string'
    local at = text and #last <= 16 and string.find(last, '^%d+$') and tonumber(last)
    -- What is no clock, or the last time that a token can have, has no next one.
    if not at or at >= 9007199254740991 then
        -- Who may not delete was just permitted to set.
        if type(redis.pcall('DEL', lock)) == 'table' then redis.call('SET', lock, '', 'PX', 1) end
        if text then redis.call('SET', clock, last) end
        return false
    end
    local fresh = string.format('%.0f', math.max(tonumber(now), at + 1))
    redis.call('SET', clock, fresh)
    redis.call('SET', lock, owner .. fresh .. label, 'PX', ttl)
    return fresh
end
for index = 1, #KEYS / 2 do
    local at = index * 3
    answers[index + 1] =
        grant(KEYS[index * 2 - 1], KEYS[index * 2], ARGV[at - 2], ARGV[at - 1], ARGV[at])
end
return answers
