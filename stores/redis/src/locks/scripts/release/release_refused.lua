for _, command in ipairs({'GET', 'DEL'}) do
    if not redis.acl_check_cmd(command, KEYS[1]) then return refused(command) end
end
return held
