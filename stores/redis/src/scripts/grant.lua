-- What a name that nobody has looks like once it is granted is the whole answer.
local time = redis.pcall('TIME')
if time.err then return redis.error_reply('NOPERM this user may not run TIME') end
local micros = time[2]
if #micros < 6 then micros = string.rep('0', 6 - #micros) .. micros end
local grant = time[1] .. micros
local record = ARGV[1] .. grant .. ARGV[3]
local held = redis.pcall('SET', KEYS[1], record, 'NX', 'PX', ARGV[2], 'GET')
if not held then
    local last = redis.pcall('SET', KEYS[2], grant, 'GET')
    -- Texts of one length compare as their numbers do.
    if not last or type(last) == 'string' and #last == #grant and last < grant then
        return record
    end
    if type(last) == 'table' then
        redis.call('DEL', KEYS[1])
        return {string.sub(ARGV[1], 1, 32), 'corrupt'}
    end
    grant = string.format('%.0f', math.max(tonumber(grant), (tonumber(last) or 0) + 1))
    record = ARGV[1] .. grant .. ARGV[3]
    redis.call('SET', KEYS[2], grant)
    redis.call('SET', KEYS[1], record, 'PX', ARGV[2])
    return record
end
