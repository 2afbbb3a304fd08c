local holder = read('h' .. owner)
local reply = 'not-held'
if holder and holder[6] == 0 then
    local after = raised(holder[4])
    reply = 'stale'
    if after then
        holder[4] = after
        write('h' .. owner, holder)
        reply = 'raised'
    end
end
offer()
return save({owner, reply})
