-- What a name that nobody has looks like once it is granted is the whole answer.
local time = redis.pcall('TIME')
if time.err then return redis.error_reply('NOPERM this user may not run TIME') end
local micros = time[2]
if #micros < 6 then micros = string.rep('0', 6 - #micros) .. micros end
local grant = (ahead > 0 and string.format('%.0f', time[1] + ahead) or time[1]) .. micros
local record = ARGV[1] .. grant .. ARGV[3]
local held = redis.pcall('SET', KEYS[1], record, 'NX', 'PX', ARGV[2], 'GET')
if not held then
    local last = redis.pcall('SET', KEYS[2], grant, 'GET')
    -- Texts of one length compare as their numbers do.
    if not last or type(last) == 'string' and #last == #grant and last < grant then
        return record
    end
    local text = type(last) == 'string'
    local at = text and #last <= 16 and string.find(last, '^%d+$') and tonumber(last)
    -- What is no clock, or the last time that a token can have, has no next one.
    if not at or at >= 9007199254740991 then
        -- Who may not delete was just permitted to set.
        if type(redis.pcall('DEL', KEYS[1])) == 'table' then
            redis.call('SET', KEYS[1], '', 'PX', 1)
        end
        if text then
            redis.call('SET', KEYS[2], last)
        elseif string.sub(last.err, 1, 9) ~= 'WRONGTYPE' then
            if redis.acl_check_cmd('SET', KEYS[2], grant, 'GET') then return last end
            return redis.error_reply('NOPERM this user may not run SET')
        end
        return {string.sub(ARGV[1], 1, 32), 'corrupt'}
    end
    grant = string.format('%.0f', math.max(tonumber(grant), at + 1))
    record = ARGV[1] .. grant .. ARGV[3]
    redis.call('SET', KEYS[2], grant)
    redis.call('SET', KEYS[1], record, 'PX', ARGV[2])
    return record
end
