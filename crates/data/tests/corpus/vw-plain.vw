1 'one |words the cat sat |size big:2.5
-1 1 'two|words:2 the the:0.5
1 three|words dog
