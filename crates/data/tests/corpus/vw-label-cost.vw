1 |f a
-1 |f b
1:0.5 |f a
