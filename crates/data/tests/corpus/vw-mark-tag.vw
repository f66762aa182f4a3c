a|f x
1 b|f y
-1 c|f x
