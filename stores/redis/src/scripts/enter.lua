if not load() then return {owner, 'corrupt'} end
expire()
