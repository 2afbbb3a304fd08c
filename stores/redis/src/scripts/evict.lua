local reply = {owner, 'evicted'}
for _, member in ipairs(redis.call('ZRANGE', ends, 0, -1)) do
    local at = string.sub(member, 1, 1) == 'h' and end_of(member)
    if at then
        local holder = read(member)
        local shown = holder[1]
        if shown == 'p' then shown = 'p ' .. holder[2] .. ' ' .. holder[3] end
        local left = math.floor((at - now) / 1000)
        reply[#reply + 1] = {shown, holder[4], left, holder[6], holder[7]}
        write(member, false)
        set_end(member, false)
        count(holder, -1)
    end
end
offer()
return save(reply)
