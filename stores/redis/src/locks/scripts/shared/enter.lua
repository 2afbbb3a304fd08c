if not load() then
    -- As format 1 has it of several, and no later one: their ends are not in the head.
    if till and not held and not head[2] then return {owner, 'format', '1'} end
    return {owner, 'corrupt'}
end
expire()
