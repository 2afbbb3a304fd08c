local reply = {owner, 'evicted'}
local all = redis.call('ZRANGE', ends, 0, -1, 'WITHSCORES')
for index = 1, #all, 2 do
    local member = all[index]
    if string.sub(member, 1, 1) == 'h' then
        local holder = read(member)
        local shown = holder[1]
        if shown == 'p' then shown = 'p ' .. holder[2] .. ' ' .. holder[3] end
        local left = math.floor((all[index + 1] - now) / 1000)
        reply[#reply + 1] = {shown, holder[4], left, holder[6], holder[7]}
        redis.call('HDEL', lock, member)
        redis.call('ZREM', ends, member)
        count(holder, -1)
    end
end
offer()
return save(reply)
