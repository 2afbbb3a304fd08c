local done = false
if keep == '0' then
    done = let_go(owner)
else
    local holder = read('h' .. owner)
    if holder and holder[LINGERS] == 0 then
        holder[LINGERS] = 1
        write('h' .. owner, holder)
        set_end('h' .. owner, now + keep * 1000)
        done = true
    end
end
done = leave(owner) or done
offer()
return save({owner, done and 'released' or 'not-held'}, true)
