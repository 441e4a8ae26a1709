"""What the sources of the product print: their string literals of several words."""
import ast
import re

ROOMS = ("api bounds cli codegen construct cost encoder graph ir jobs library pages pareto placement preload python runtime "
         "semantics solvers tensor topology").split()


def literals(text, quotes):
    """(number, text) of the string literals of a C++ or JavaScript source; what stands side by side is
    one."""
    first, parts = 0, []
    token = (rf"""//[^\n]*|/\*.*?\*/|R"\w*\((?P<raw>.*?)\)\w*"|(?P<quote>[{quotes}])(?P<plain>(?:\\.|(?!(?P=quote)).)*)(?P=quote)"""
             r"""|(?<!\d)'(?:\\.|[^'\\\n])*'|\S""")
    for match in re.finditer(token, text + ";", re.S):
        part = match["raw"] if match["raw"] is not None else match["plain"]
        if part is not None:
            first = first if parts else text.count("\n", 0, match.start()) + 1
            parts.append(part)
        elif parts and not match[0].startswith(("//", "/*")):
            yield first, "".join(parts)
            parts = []


def printed(path):
    """(number, text) of what a source prints: its literals of several words, without names that they quote;
    of Python its docstrings, too, and of HTML all that is not a tag."""
    text = path.read_text()
    if path.suffix in (".py", ".pyi"):
        found_there = [(node.lineno, node.value) for node in ast.walk(ast.parse(text))
                       if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    elif path.suffix == ".html":
        found_there = [(n, re.sub(r"<[^>]*>", "]", line)) for n, line in enumerate(text.splitlines(), 1)]
    else:
        found_there = literals(text, "\"`'" if path.suffix == ".js" else '"')
    for number, literal in found_there:
        if " " in literal:
            yield number, re.sub(r'\\"[^"\\]*\\"|\$\{[^}]*\}|\\n|\s+', " ", literal)


def sources(root):
    return [path for room in ROOMS for path in sorted((root / room).rglob("*"))
            if path.suffix in (".cpp", ".h", ".c", ".cu", ".py", ".pyi", ".js", ".html")]
