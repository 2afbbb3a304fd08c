return {owner, 'crowd'}
