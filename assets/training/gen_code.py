"""Tiny programs in Go, Python and JavaScript."""

FN = {  # description, name, go, py, js, note
}


def snippet(lang, kind, f, a, b):
    """Code of one small task. f: function name, a and b: argument names."""
    G = {
        "add": (
            f"func {f}({a}, {b} int) int {{\n\treturn {a} + {b}\n}}",
            f"def {f}({a}, {b}):\n    return {a} + {b}",
            f"function {f}({a}, {b}) {{\n  return {a} + {b};\n}}",
        ),
        "sub": (
            f"func {f}({a}, {b} int) int {{\n\treturn {a} - {b}\n}}",
            f"def {f}({a}, {b}):\n    return {a} - {b}",
            f"function {f}({a}, {b}) {{\n  return {a} - {b};\n}}",
        ),
        "mul": (
            f"func {f}({a}, {b} int) int {{\n\treturn {a} * {b}\n}}",
            f"def {f}({a}, {b}):\n    return {a} * {b}",
            f"function {f}({a}, {b}) {{\n  return {a} * {b};\n}}",
        ),
        "div": (
            f"func {f}({a}, {b} float64) float64 {{\n\treturn {a} / {b}\n}}",
            f"def {f}({a}, {b}):\n    return {a} / {b}",
            f"function {f}({a}, {b}) {{\n  return {a} / {b};\n}}",
        ),
        "max": (
            f"func {f}({a}, {b} int) int {{\n\tif {a} > {b} {{\n\t\treturn {a}\n\t}}\n\treturn {b}\n}}",
            f"def {f}({a}, {b}):\n    if {a} > {b}:\n        return {a}\n    return {b}",
            f"function {f}({a}, {b}) {{\n  return {a} > {b} ? {a} : {b};\n}}",
        ),
        "min": (
            f"func {f}({a}, {b} int) int {{\n\tif {a} < {b} {{\n\t\treturn {a}\n\t}}\n\treturn {b}\n}}",
            f"def {f}({a}, {b}):\n    if {a} < {b}:\n        return {a}\n    return {b}",
            f"function {f}({a}, {b}) {{\n  return {a} < {b} ? {a} : {b};\n}}",
        ),
        "even": (
            f"func {f}({a} int) bool {{\n\treturn {a}%2 == 0\n}}",
            f"def {f}({a}):\n    return {a} % 2 == 0",
            f"function {f}({a}) {{\n  return {a} % 2 === 0;\n}}",
        ),
        "square": (
            f"func {f}({a} int) int {{\n\treturn {a} * {a}\n}}",
            f"def {f}({a}):\n    return {a} * {a}",
            f"function {f}({a}) {{\n  return {a} * {a};\n}}",
        ),
        "fact": (
            f"func {f}({a} int) int {{\n\tif {a} <= 1 {{\n\t\treturn 1\n\t}}\n\treturn {a} * {f}({a}-1)\n}}",
            f"def {f}({a}):\n    if {a} <= 1:\n        return 1\n    return {a} * {f}({a} - 1)",
            f"function {f}({a}) {{\n  if ({a} <= 1) {{\n    return 1;\n  }}\n  return {a} * {f}({a} - 1);\n}}",
        ),
        "fib": (
            f"func {f}({a} int) int {{\n\tx, y := 0, 1\n\tfor i := 0; i < {a}; i++ {{\n\t\tx, y = y, x+y\n\t}}\n\treturn x\n}}",
            f"def {f}({a}):\n    x, y = 0, 1\n    for _ in range({a}):\n        x, y = y, x + y\n    return x",
            f"function {f}({a}) {{\n  let x = 0, y = 1;\n  for (let i = 0; i < {a}; i++) {{\n    [x, y] = [y, x + y];\n  }}\n  return x;\n}}",
        ),
        "sum": (
            f"func {f}({a} []int) int {{\n\ttotal := 0\n\tfor _, v := range {a} {{\n\t\ttotal += v\n\t}}\n\treturn total\n}}",
            f"def {f}({a}):\n    total = 0\n    for v in {a}:\n        total += v\n    return total",
            f"function {f}({a}) {{\n  let total = 0;\n  for (const v of {a}) {{\n    total += v;\n  }}\n  return total;\n}}",
        ),
        "avg": (
            f"func {f}({a} []float64) float64 {{\n\tif len({a}) == 0 {{\n\t\treturn 0\n\t}}\n\ttotal := 0.0\n\tfor _, v := range {a} {{\n\t\ttotal += v\n\t}}\n\treturn total / float64(len({a}))\n}}",
            f"def {f}({a}):\n    if not {a}:\n        return 0\n    return sum({a}) / len({a})",
            f"function {f}({a}) {{\n  if ({a}.length === 0) {{\n    return 0;\n  }}\n  return {a}.reduce((x, y) => x + y, 0) / {a}.length;\n}}",
        ),
        "largest": (
            f"func {f}({a} []int) int {{\n\tbest := {a}[0]\n\tfor _, v := range {a} {{\n\t\tif v > best {{\n\t\t\tbest = v\n\t\t}}\n\t}}\n\treturn best\n}}",
            f"def {f}({a}):\n    best = {a}[0]\n    for v in {a}:\n        if v > best:\n            best = v\n    return best",
            f"function {f}({a}) {{\n  return Math.max(...{a});\n}}",
        ),
        "rev": (
            f"func {f}({a} string) string {{\n\tr := []rune({a})\n\tfor i, j := 0, len(r)-1; i < j; i, j = i+1, j-1 {{\n\t\tr[i], r[j] = r[j], r[i]\n\t}}\n\treturn string(r)\n}}",
            f"def {f}({a}):\n    return {a}[::-1]",
            f'function {f}({a}) {{\n  return [...{a}].reverse().join("");\n}}',
        ),
        "pal": (
            f"func {f}({a} string) bool {{\n\tfor i, j := 0, len({a})-1; i < j; i, j = i+1, j-1 {{\n\t\tif {a}[i] != {a}[j] {{\n\t\t\treturn false\n\t\t}}\n\t}}\n\treturn true\n}}",
            f"def {f}({a}):\n    return {a} == {a}[::-1]",
            f'function {f}({a}) {{\n  return {a} === [...{a}].reverse().join("");\n}}',
        ),
        "vowels": (
            f'func {f}({a} string) int {{\n\tn := 0\n\tfor _, c := range strings.ToLower({a}) {{\n\t\tif strings.ContainsRune("aeiou", c) {{\n\t\t\tn++\n\t\t}}\n\t}}\n\treturn n\n}}',
            f'def {f}({a}):\n    return sum(1 for c in {a}.lower() if c in "aeiou")',
            f'function {f}({a}) {{\n  return [...{a}.toLowerCase()].filter(c => "aeiou".includes(c)).length;\n}}',
        ),
        "upper": (
            f"func {f}({a} string) string {{\n\treturn strings.ToUpper({a})\n}}",
            f"def {f}({a}):\n    return {a}.upper()",
            f"function {f}({a}) {{\n  return {a}.toUpperCase();\n}}",
        ),
        "c2f": (
            f"func {f}({a} float64) float64 {{\n\treturn {a}*9/5 + 32\n}}",
            f"def {f}({a}):\n    return {a} * 9 / 5 + 32",
            f"function {f}({a}) {{\n  return {a} * 9 / 5 + 32;\n}}",
        ),
        "greet": (
            f'func {f}({a} string) string {{\n\treturn "Hello, " + {a} + "!"\n}}',
            f'def {f}({a}):\n    return f"Hello, {{{a}}}!"',
            f"function {f}({a}) {{\n  return `Hello, ${{{a}}}!`;\n}}",
        ),
        "prime": (
            f"func {f}({a} int) bool {{\n\tif {a} < 2 {{\n\t\treturn false\n\t}}\n\tfor i := 2; i*i <= {a}; i++ {{\n\t\tif {a}%i == 0 {{\n\t\t\treturn false\n\t\t}}\n\t}}\n\treturn true\n}}",
            f"def {f}({a}):\n    if {a} < 2:\n        return False\n    for i in range(2, int({a} ** 0.5) + 1):\n        if {a} % i == 0:\n            return False\n    return True",
            f"function {f}({a}) {{\n  if ({a} < 2) return false;\n  for (let i = 2; i * i <= {a}; i++) {{\n    if ({a} % i === 0) return false;\n  }}\n  return true;\n}}",
        ),
        "abs": (
            f"func {f}({a} int) int {{\n\tif {a} < 0 {{\n\t\treturn -{a}\n\t}}\n\treturn {a}\n}}",
            f"def {f}({a}):\n    return -{a} if {a} < 0 else {a}",
            f"function {f}({a}) {{\n  return Math.abs({a});\n}}",
        ),
        "contains": (
            f"func {f}({a} []string, {b} string) bool {{\n\tfor _, v := range {a} {{\n\t\tif v == {b} {{\n\t\t\treturn true\n\t\t}}\n\t}}\n\treturn false\n}}",
            f"def {f}({a}, {b}):\n    return {b} in {a}",
            f"function {f}({a}, {b}) {{\n  return {a}.includes({b});\n}}",
        ),
        "swap": (
            f"func {f}({a}, {b} int) (int, int) {{\n\treturn {b}, {a}\n}}",
            f"def {f}({a}, {b}):\n    return {b}, {a}",
            f"function {f}({a}, {b}) {{\n  return [{b}, {a}];\n}}",
        ),
        "length": (
            f"func {f}({a} string) int {{\n\treturn len([]rune({a}))\n}}",
            f"def {f}({a}):\n    return len({a})",
            f"function {f}({a}) {{\n  return {a}.length;\n}}",
        ),
    }
    return G[kind][("Go", "Python", "JavaScript").index(lang)]


# kind: (what it does, camel name, snake name, argument choices, note)
KINDS = {
    "add": ("adds two numbers", "add", "add", "ab", "It returns the sum of its two arguments."),
    "sub": ("subtracts two numbers", "subtract", "subtract", "ab", "It returns the difference of its two arguments."),
    "mul": ("multiplies two numbers", "multiply", "multiply", "ab", "It returns the product of its two arguments."),
    "div": ("divides two numbers", "divide", "divide", "ab", "The second argument must not be zero."),
    "max": (
        "returns the larger of two numbers",
        "maxOf",
        "max_of",
        "ab",
        "It compares the two numbers and returns the larger one.",
    ),
    "min": (
        "returns the smaller of two numbers",
        "minOf",
        "min_of",
        "ab",
        "It compares the two numbers and returns the smaller one.",
    ),
    "even": (
        "checks if a number is even",
        "isEven",
        "is_even",
        "n",
        "A number is even if the remainder after dividing by two is zero.",
    ),
    "square": ("squares a number", "square", "square", "n", "It multiplies the number by itself."),
    "fact": (
        "computes the factorial of a number",
        "factorial",
        "factorial",
        "n",
        "It calls itself with a smaller number until it reaches one.",
    ),
    "fib": (
        "computes the nth Fibonacci number",
        "fib",
        "fib",
        "n",
        "Each Fibonacci number is the sum of the two before it.",
    ),
    "sum": ("sums a list of numbers", "sum", "total_of", "s", "It goes through the list and adds up the values."),
    "avg": ("computes the average of a list", "average", "average", "s", "It divides the sum by the number of values."),
    "largest": ("finds the largest number in a list", "largest", "largest", "s", "The list must not be empty."),
    "rev": ("reverses a string", "reverse", "reverse", "t", "It returns the characters in the opposite order."),
    "pal": (
        "checks if a word is a palindrome",
        "isPalindrome",
        "is_palindrome",
        "t",
        "A palindrome reads the same forwards and backwards.",
    ),
    "vowels": (
        "counts the vowels in a string",
        "countVowels",
        "count_vowels",
        "t",
        "It counts the letters a, e, i, o and u.",
    ),
    "upper": ("turns a string into upper case", "toUpper", "to_upper", "t", "It returns the text in capital letters."),
    "c2f": (
        "converts Celsius to Fahrenheit",
        "toFahrenheit",
        "to_fahrenheit",
        "c",
        "For example, 100 degrees Celsius are 212 degrees Fahrenheit.",
    ),
    "greet": ("greets a person by name", "greet", "greet", "m", "It builds a greeting from the name."),
    "prime": (
        "checks if a number is prime",
        "isPrime",
        "is_prime",
        "n",
        "It looks for a divisor up to the square root.",
    ),
    "abs": (
        "returns the absolute value of a number",
        "abs",
        "absolute",
        "n",
        "It removes the sign of a negative number.",
    ),
    "contains": (
        "checks if a list contains a value",
        "contains",
        "contains",
        "sv",
        "It returns true as soon as it finds the value.",
    ),
    "swap": ("swaps two values", "swap", "swap", "ab", "It returns the two values in the opposite order."),
    "length": ("returns the length of a string", "length", "length", "t", "It counts the characters of the text."),
}
ARGS = {
    "ab": (("a", "b"), ("x", "y")),
    "n": (("n", "_"), ("x", "_"), ("num", "_")),
    "s": (("nums", "_"), ("values", "_"), ("xs", "_")),
    "t": (("s", "_"), ("text", "_"), ("word", "_")),
    "c": (("c", "_"), ("celsius", "_")),
    "m": (("name", "_"),),
    "sv": (("items", "value"), ("list", "x")),
}
FENCE = {"Go": "go", "Python": "python", "JavaScript": "javascript"}


def programs(r, lang, name):
    n, m = r.randrange(3, 21), name(r)
    k = r.randrange(7)
    if k == 0:
        return (
            "prints Hello, World",
            {
                "Go": 'package main\n\nimport "fmt"\n\nfunc main() {\n\tfmt.Println("Hello, World!")\n}',
                "Python": 'print("Hello, World!")',
                "JavaScript": 'console.log("Hello, World!");',
            }[lang],
            "It prints one line of text.",
        )
    if k == 1:
        return (
            f"prints the numbers from 1 to {n}",
            {
                "Go": f'package main\n\nimport "fmt"\n\nfunc main() {{\n\tfor i := 1; i <= {n}; i++ {{\n\t\tfmt.Println(i)\n\t}}\n}}',
                "Python": f"for i in range(1, {n + 1}):\n    print(i)",
                "JavaScript": f"for (let i = 1; i <= {n}; i++) {{\n  console.log(i);\n}}",
            }[lang],
            "The loop runs once for every number.",
        )
    if k == 2:
        return (
            f"says hello to {m}",
            {
                "Go": f'package main\n\nimport "fmt"\n\nfunc main() {{\n\tname := "{m}"\n\tfmt.Println("Hello,", name)\n}}',
                "Python": f'name = "{m}"\nprint("Hello,", name)',
                "JavaScript": f'const name = "{m}";\nconsole.log("Hello, " + name);',
            }[lang],
            "It stores the name in a variable and prints a greeting.",
        )
    if k == 3:
        return (
            "solves FizzBuzz",
            {
                "Go": 'package main\n\nimport "fmt"\n\nfunc main() {\n\tfor i := 1; i <= 100; i++ {\n\t\tswitch {\n\t\tcase i%15 == 0:\n\t\t\tfmt.Println("FizzBuzz")\n\t\tcase i%3 == 0:\n\t\t\tfmt.Println("Fizz")\n\t\tcase i%5 == 0:\n\t\t\tfmt.Println("Buzz")\n\t\tdefault:\n\t\t\tfmt.Println(i)\n\t\t}\n\t}\n}',
                "Python": 'for i in range(1, 101):\n    if i % 15 == 0:\n        print("FizzBuzz")\n    elif i % 3 == 0:\n        print("Fizz")\n    elif i % 5 == 0:\n        print("Buzz")\n    else:\n        print(i)',
                "JavaScript": 'for (let i = 1; i <= 100; i++) {\n  if (i % 15 === 0) console.log("FizzBuzz");\n  else if (i % 3 === 0) console.log("Fizz");\n  else if (i % 5 === 0) console.log("Buzz");\n  else console.log(i);\n}',
            }[lang],
            "Multiples of three and five get special words.",
        )
    if k == 4:
        xs = r.sample(("apple", "pear", "plum", "fig", "lemon", "bread", "milk", "tea"), 3)
        q = ", ".join(f'"{x}"' for x in xs)
        return (
            f"loops over a list of {', '.join(xs[:2])} and {xs[2]}",
            {
                "Go": f'package main\n\nimport "fmt"\n\nfunc main() {{\n\titems := []string{{{q}}}\n\tfor _, item := range items {{\n\t\tfmt.Println(item)\n\t}}\n}}',
                "Python": f"items = [{q}]\nfor item in items:\n    print(item)",
                "JavaScript": f"const items = [{q}];\nfor (const item of items) {{\n  console.log(item);\n}}",
            }[lang],
            "It prints every item on its own line.",
        )
    if k == 5:
        f = r.choice(("notes.txt", "data.txt", "input.txt"))
        return (
            f"reads the file {f}",
            {
                "Go": f'package main\n\nimport (\n\t"fmt"\n\t"os"\n)\n\nfunc main() {{\n\tdata, err := os.ReadFile("{f}")\n\tif err != nil {{\n\t\tfmt.Println(err)\n\t\treturn\n\t}}\n\tfmt.Println(string(data))\n}}',
                "Python": f'with open("{f}") as f:\n    print(f.read())',
                "JavaScript": f'const fs = require("fs");\nconsole.log(fs.readFileSync("{f}", "utf8"));',
            }[lang],
            "It prints the whole content of the file.",
        )
    return (
        "starts a small web server",
        {
            "Go": 'package main\n\nimport (\n\t"fmt"\n\t"net/http"\n)\n\nfunc main() {\n\thttp.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {\n\t\tfmt.Fprintln(w, "Hello!")\n\t})\n\thttp.ListenAndServe(":8080", nil)\n}',
            "Python": 'from http.server import HTTPServer, SimpleHTTPRequestHandler\n\nHTTPServer(("", 8080), SimpleHTTPRequestHandler).serve_forever()',
            "JavaScript": 'const http = require("http");\n\nhttp.createServer((req, res) => {\n  res.end("Hello!");\n}).listen(8080);',
        }[lang],
        "Open http://localhost:8080 in a browser to see it.",
    )


def task(r, ask, name, sentence):
    lang = r.choice(("Go", "Go", "Python", "Python", "JavaScript"))
    c = r.random()
    if c < 0.25:
        what, code, note = programs(r, lang, name)
        u = ask(
            r,
            r.choice(
                (
                    f"write a {lang} program that {what}",
                    f"write a program that {what} in {lang}",
                    f"show me {lang} code that {what}",
                    f"write {lang} code that {what}",
                )
            ),
        )
        intro = f"Here is a small {lang} program that {what}:"
        if "Hello, World" in what and r.random() < 0.6:
            u = r.choice((f"Hello world in {lang}", f"Write hello world in {lang}.", f"Show me hello world in {lang}."))
    else:
        kind = r.choice(list(KINDS))
        what, camel, snake, ar, note = KINDS[kind]
        a, b = r.choice(ARGS[ar])
        f = snake if lang == "Python" else camel
        named = r.random() < 0.15
        if named:
            f = (
                r.choice(("calc", "compute", "helper", "doIt", "run", "process", "work", "f", "foo"))
                if lang != "Python"
                else r.choice(("calc", "compute", "helper", "do_it", "run", "process", "work", "f", "foo"))
            )
        elif lang == "Go" and r.random() < 0.3:
            f = f[0].upper() + f[1:]
        code = snippet(lang, kind, f, a, b)
        fn = r.choice(("function", "function", "method", "small function"))
        suffix = f" called {f}" if named else ""
        u = ask(
            r,
            r.choice(
                (
                    f"write a {fn}{suffix} that {what} in {lang}",
                    f"write a {lang} {fn}{suffix} that {what}",
                    f"in {lang}, write a {fn}{suffix} that {what}",
                    f"show me a {lang} {fn}{suffix} that {what}",
                    f"write {lang} code for a {fn}{suffix} that {what}",
                )
            ),
        )
        if not named and r.random() < 0.12:
            u = f"How do I write a function that {what} in {lang}?"
        intro = r.choice(
            (
                f"Here is a {lang} function that {what}:",
                f"This {lang} function {what}:",
                "Here it is:",
                f"Here is the function in {lang}:",
            )
        )
        if r.random() < 0.1:
            # explain given code instead
            return r.choice(
                (
                    f"What does this code do?\n\n```{FENCE[lang]}\n{code}\n```",
                    f"Explain this code:\n\n```{FENCE[lang]}\n{code}\n```",
                    f"Explain:\n\n{code}",
                )
            ), f"This is a {lang} function that {what}. {note}"
    body = f"{intro}\n\n```{FENCE[lang]}\n{code}\n```"
    if r.random() < 0.6:
        body += f"\n\n{note}"
    return u, body
