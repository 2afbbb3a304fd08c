local holder = read('h' .. owner)
local reply = 'not-held'
if holder and holder[LINGERS] == 0 then
    local after = raised(holder[GRANT])
    reply = 'stale'
    if after then
        holder[GRANT] = after
        write('h' .. owner, holder)
        reply = 'raised'
    end
end
offer()
return save({owner, reply})
