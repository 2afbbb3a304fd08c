local keep, limits = ARGV[2], ARGV[3]
if held then
    if string.sub(held, 1, 32) ~= owner then return {owner, 'not-held'} end
    if keep == '0' then
        attempt('DEL', lock)
        return owner
    end
end
