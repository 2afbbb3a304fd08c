local lock, clock = KEYS[1], KEYS[2]
local owner = string.sub(ARGV[1], 1, 32)
local now = time[1] * 1000000 + time[2]
if type(held) == 'table' then
    if string.sub(held.err, 1, 9) ~= 'WRONGTYPE' then
        return redis.acl_check_cmd('SET', lock, '') and held or refused('SET')
    end
    return {owner, 'crowd'}
end
