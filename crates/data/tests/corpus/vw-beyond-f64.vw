1 |f a:1e400
-1 |f b
