#!/usr/bin/env python3
"""facts.py WORK [OUT]: writes facts.json.gz, what Apple's Objective-C interfaces are called and take.

The facts (names, selectors, types, structs, constants) are read out of the objc2 crates of crates.io, which are generated
from the headers of macOS 26 and licensed Zlib OR Apache-2.0 OR MIT. WORK is a folder to download them into with cargo.
Only who changes the version of the crates, or this program, needs to run it: the result is committed.

  types      name -> kind (class, protocol), super, adopts (protocols), methods: "-selector:" or "+selector:" -> signature;
             name, where a protocol is called like a class and listed with Protocol at the end
  structs    name -> fields, each a name and a type code
  enums      name -> constants
  functions  name -> signature

A signature is the result's type code and one for each argument, separated by blanks, then " !" and flags: o for an optional
method of a protocol, d for a deprecated one. Type codes: @ object, @? block, # class, : selector, B BOOL, q Q long, i I int,
s S short, c C char, x X 64 bits, f d, v void, ^ pointer, {S} struct S, ? unknown; then ":Name" where a name says more.
"""
import gzip
import json
import os
import re
import subprocess
import sys

VERSION = "0.3.2"
CRATES = ["metal", "app-kit", "foundation", "web-kit", "core-foundation", "quartz-core", "core-data", "cloud-kit",
          "core-graphics", "user-notifications", "service-management", "core-text"]
# NSObject and its protocol come with the language's runtime and are not generated.
NSOBJECT = {
    "-autorelease": "@:NSObject", "-class": "#", "-conformsToProtocol:": "B @:Protocol", "-copy": "@", "-dealloc": "v",
    "-debugDescription": "@:NSString", "-description": "@:NSString", "-hash": "Q", "-init": "@:NSObject",
    "-isEqual:": "B @", "-isKindOfClass:": "B #", "-isMemberOfClass:": "B #", "-isProxy": "B", "-mutableCopy": "@",
    "-performSelector:": "@ :", "-performSelector:withObject:": "@ : @",
    "-performSelector:withObject:withObject:": "@ : @ @", "-release": "v", "-respondsToSelector:": "B :",
    "-retain": "@:NSObject", "-retainCount": "Q", "-self": "@:NSObject", "-superclass": "#", "+alloc": "@:NSObject",
    "+class": "#", "+conformsToProtocol:": "B @:Protocol", "+instancesRespondToSelector:": "B :", "+new": "@:NSObject",
    "+superclass": "#",
}
PRIMITIVE = {
    "void": "v", "()": "v", "bool": "B", "Bool": "B", "NSUInteger": "Q", "usize": "Q", "NSInteger": "q", "isize": "q",
    "CGFloat": "d", "c_double": "d", "f64": "d", "c_float": "f", "f32": "f", "c_int": "i", "i32": "i", "c_uint": "I",
    "u32": "I", "c_short": "s", "i16": "s", "c_ushort": "S", "u16": "S", "c_char": "c", "i8": "c", "c_uchar": "C",
    "u8": "C", "i64": "x", "c_longlong": "x", "u64": "X", "c_ulonglong": "X", "c_long": "q", "c_ulong": "Q", "Sel": ":",
    "unichar": "S", "NSTimeInterval": "d", "Boolean": "C", "pid_t": "i", "libc::pid_t": "i", "OSErr": "s", "SRefCon": "^",
    "NSComparisonResult": "q:NSComparisonResult", "NSCursorFrameResizePosition": "Q:NSCursorFrameResizePosition",
    "AEReturnID": "s:AEReturnID",
}
PRIMITIVE |= {k: "I:" + k for k in ("AEEventClass", "AEEventID", "AEKeyword", "AETransactionID", "DescType", "OSType")}
MARKERS = {"", "Send", "Sync", "MainThreadOnly", "ClassType", "Sized", "Message"}


def vendor(work):
    """Downloads the crates and returns the folder they lie in."""
    os.makedirs(work + "/src", exist_ok=True)
    with open(work + "/src/lib.rs", "w"):
        pass
    with open(work + "/Cargo.toml", "w") as f:
        f.write('[package]\nname = "facts"\nversion = "0.0.1"\nedition = "2021"\n[dependencies]\n')
        f.writelines(f'objc2-{c} = "={VERSION}"\n' for c in CRATES)
    subprocess.run(["cargo", "vendor", "--quiet"], cwd=work, check=True, stdout=subprocess.DEVNULL)
    return work + "/vendor"


def squeeze(text):
    return re.sub(r"\s+", " ", text).strip()


def split_top(text):
    """Splits at commas that are inside no bracket."""
    out, depth, current = [], 0, ""
    for i, c in enumerate(text):
        if c in "<([":
            depth += 1
        elif c in ")]" or (c == ">" and text[i - 1] != "-"):
            depth -= 1
        if c == "," and depth == 0:
            out.append(current)
            current = ""
        else:
            current += c
    return [x.strip() for x in out + [current] if x.strip()]


def closing(text, start):
    """Returns where the bracket at start is closed."""
    depth = 0
    for i in range(start, len(text)):
        if text[i] in "([{":
            depth += 1
        elif text[i] in ")]}":
            depth -= 1
            if depth == 0:
                return i
    raise ValueError("unbalanced")


def strip(text):
    """Removes comments, and strings and characters that hold brackets."""
    text = re.sub(r"//[^\n]*", "", text)
    return re.sub(r"'[{}()\[\]]'|\"[^\"\n]*\"", lambda m: '""' if re.search(r"[{}()\[\]]", m.group()) else m.group(), text)


def macros(text, name):
    for m in re.finditer(r"\b" + name + r"!\(", text):
        yield text[m.end():closing(text, m.end() - 1)]


METHOD = re.compile(r"#\[unsafe\(method\(([^)]*)\)\)\]")


def methods(body):
    """Reads the methods of an extern_methods! or extern_protocol! body: key -> (result, arguments, flags), Rust's types."""
    out, previous = {}, 0
    for m in METHOD.finditer(body):
        head = body[previous:m.start()]
        attributes = head[max(head.rfind(";"), head.rfind("{")) + 1:]
        f = re.compile(r"\bfn\s+\w+(?:<)?").search(body, m.end())
        start = body.index("(", f.end() - 1 if body[f.end() - 1] != "<" else body.index(">", f.end()))
        end = closing(body, start)
        arguments = split_top(body[start + 1:end])
        rest, depth, n = body[end + 1:], 0, 0
        for n, c in enumerate(rest):  # the ; of [T; N] is not the end
            if c in "<([":
                depth += 1
            elif c in ")]" or (c == ">" and rest[n - 1] != "-"):
                depth -= 1
            elif c == ";" and depth == 0:
                break
        result = re.sub(r"\bwhere\b.*", "", rest[:n], flags=re.S).strip()
        result = squeeze(result[2:]) if result.startswith("->") else "void"
        own = r"(&(mut )?self\b|self\b|this:\s*([\w:]*Allocated|&|[\w:]*Retained))"
        instance = bool(arguments) and re.match(own, arguments[0]) is not None
        types = [squeeze(a.split(":", 1)[1]) for a in arguments[instance:] if not re.match(r"_?mtm:", a)]
        selector = re.sub(r"\s", "", m.group(1))
        if selector.endswith("_"):  # the crates turn a last NSError** into a Result
            selector = selector[:-1]
            types.append("NSError**")
        deprecated = "#[deprecated" in attributes or "#[deprecated" in body[m.end():f.start()]
        flags = ("o" if "#[optional]" in attributes else "") + ("d" if deprecated else "")
        if selector.count(":") != len(types):
            sys.exit(f"facts.py: {selector} has {len(types)} types")
        out[("-" if instance else "+") + selector] = (result, types, flags)
        previous = m.end()
    return out


class Api:
    """What the crates say, in Rust's words, until code() translates it."""

    def __init__(self, sources):
        self.types, self.alias, self.constants, self.structs, self.functions = {}, {}, {}, {}, {}
        self.known = {}
        texts = [strip(s) for s in sources]
        for t in texts:
            self.read_types(t)
        for t in texts:
            self.read_categories(t)
            self.read_values(t)

    def type(self, name, kind=None):
        t = self.types.setdefault(name, {"kind": kind or "class", "adopts": set(), "methods": {}})
        if kind:
            t["kind"] = kind
        return t

    def read_types(self, t):
        for b in macros(t, "extern_class"):
            if m := re.search(r"pub struct (\w+)", b):
                c = self.type(m.group(1), "class")
                if s := re.search(r"#\[unsafe\(super\(([^)]*)\)\)\]", b):
                    c["super"] = s.group(1).split(",")[0].strip()
        for b in macros(t, "extern_protocol"):
            if m := re.search(r"pub unsafe trait (\w+)\s*(?::([^{]*))?\{", b, re.S):
                p = self.type(m.group(1), "protocol")
                if n := re.search(r'#\[name = "(\w+)"\]', b):
                    p["name"] = n.group(1)
                p["adopts"] |= {x.strip() for x in (m.group(2) or "").split("+")} - MARKERS
                p["methods"].update(methods(b[m.end():]))
        for m in re.finditer(r"\bimpl(?:<[^>]*>+)?\s+(\w+)(?:<[^{]*)?\s*\{", t):
            body = t[m.end():closing(t, m.end() - 1)]
            for b in macros(body, "extern_methods"):
                self.type(m.group(1))["methods"].update(methods(b))
        for b in macros(t, "extern_conformance"):
            if m := re.search(r"unsafe impl\s*(?:<[^{]*?>\s*)?(\w+)\s+for\s+(\w+)", b):
                self.type(m.group(2))["adopts"].add(m.group(1))

    def read_categories(self, t):
        for m in re.finditer(r"pub unsafe trait (\w+)\s*:[^{]*ClassType[^{]*\{", t):
            body = t[m.end():closing(t, m.end() - 1)]
            for name in re.findall(r"unsafe impl(?:<[^{]*?>)? " + m.group(1) + r" for (\w+)", t):
                for b in macros(body, "extern_methods"):
                    self.type(name)["methods"].update(methods(b))

    def read_values(self, t):
        for n, type_ in re.findall(r"pub type (\w+)(?:<[^=]*>)?\s*=\s*([^;]+);", t):
            self.alias.setdefault(n, squeeze(type_))
        for n, type_ in re.findall(r"pub struct (\w+)\(pub (\w+)\);", t):
            self.alias[n] = type_
            self.constants.setdefault(n, {})
        for n, body in re.findall(r"pub struct (\w+)\s*\{([^}]*)\}", t):
            field = r"(?:pub(?:\([^)]*\))?\s+)?(\w+):\s*([^,]+(?:<[^>]*>)?),"
            self.structs.setdefault(n, [(f, squeeze(x)) for f, x in re.findall(field, body)])
        for m in re.finditer(r"impl(?: (\w+):\s*\w+|\s+(\w+)) \{([^}]*)\}", t):
            n = m.group(1) or m.group(2)
            for c, e in re.findall(r"const (\w+)(?:: Self)?\s*=\s*(?:Self\()?(.+?)\)?;", m.group(3)):
                self.constants.setdefault(n, {})[c] = e
        for block in re.finditer(r'extern "C(?:-unwind)?" \{', t):
            body = t[block.end():closing(t, block.end() - 1)]
            for m in re.finditer(r"\bfn (\w+)\(([^;{]*?)\)(?:\s*->\s*([^;{]+))?;", body, re.S):
                arguments = [a.split(":", 1)[1] for a in split_top(m.group(2)) if ":" in a]
                self.functions[m.group(1)] = ((m.group(3) or "void").strip(), arguments, "")

    def code(self, t, of, depth=0):
        """Translates one of Rust's types into a type code; of is what Self means."""
        t = re.sub(r"\b(crate|core::ffi|objc2_\w+|objc2|block2|rc|runtime)::", "", squeeze(t))
        if m := re.fullmatch(r"(Option|Result|Retained|Allocated|Arc)<(.*)>", t):
            inner = split_top(m.group(2))[0]
            if m.group(1) == "Result" and inner in ("()", ""):
                return "B"
            c = self.code(inner, of, depth + 1)
            pointer = m.group(1) in ("Retained", "Allocated") and not c.startswith("@")
            return "@:" + re.sub(r"<.*", "", inner) if pointer else c
        if t in PRIMITIVE:
            return PRIMITIVE[t]
        if t.startswith("unsafe extern"):
            return "^:function"
        if t == "NSError**":
            return "^:NSError"
        if re.match(r"(&|\*(mut|const) |NonNull<)?\s*(mut )?\s*(Dyn)?Block<", t) or (
                "DynBlock<" in t and re.match(r"(&|\*(mut|const) )", t)):
            return "@?"
        if re.match(r"&?\s*AnyClass", t):
            return "#"
        if t in ("&Self", "Self"):
            return "@:" + of
        if m := re.match(r"(?:&(?:'static )?(?:mut )?)?ProtocolObject<dyn (\w+)", t):
            return "@:" + m.group(1)
        if m := re.match(r"&(?:'static )?(?:mut )?(\w+)", t):
            return self.reference(m.group(1))
        if re.match(r"(\*|NonNull<)", t):
            inner = re.sub(r"ProtocolObject<dyn (\w+)>", r"\1", re.sub(r"^(\*(mut|const) |NonNull<)", "", t))
            return "^:" + re.sub(r"[^\w*]+", " ", inner).strip().replace(" ", "_")
        if self.structs.get(t):
            return "{" + t + "}"
        if t in self.alias and depth < 8:
            c = self.code(self.alias[t], of, depth + 1)
            return c if c in ("@?", "#") or c[0] in "@^{" else c.split(":")[0] + ":" + t
        if t in self.types or t in ("AnyObject", "ObjectType"):
            return "@:" + t
        if t in ("NSRect", "NSPoint", "NSSize"):
            return "{CG" + t[2:] + "}"
        return "?:" + re.sub(r"\s", "", t)

    def reference(self, name):
        if name in ("AnyObject", "ObjectType", "KeyType", "NSObject"):
            return "@"
        prefixes = ("NS", "CF", "CG", "CA", "CI", "WK", "UN", "OS", "Sec", "CK", "UT")
        return ("@:" if name in self.types or name.startswith(prefixes) else "^:") + name

    def constant(self, enum, name):
        """Computes a constant; what cannot be computed stays as it is written."""
        if (enum, name) in self.known:
            return self.known[enum, name]
        self.known[enum, name] = None  # guards a cycle
        text = self.constants.get(enum, {}).get(name)
        if text is None:
            return None

        def other(m):
            if m.group(2) == "MAX":
                return m.group()
            return str(self.constant(enum if m.group(1) == "Self" else m.group(1), m.group(2)))

        e = re.sub(r"\b(\w+)::(\w+)(?:\.(?:0|bits\(\)))?", other, text)
        shifts = {"MTLResourceCPUCacheModeShift": "0", "MTLResourceStorageModeShift": "4",
                  "MTLResourceHazardTrackingModeShift": "8"}
        for k, v in shifts.items():
            e = e.replace(k, v)
        e = re.sub(r"\b(NSUIntegerMax|NSUInteger::MAX|u64::MAX|usize::MAX)\b", str(2**64 - 1), e)
        e = re.sub(r"\b(NSIntegerMax|isize::MAX)\b", str(2**63 - 1), re.sub(r"\bas \w+", "", e))
        e = re.sub(r"(\b0x[0-9a-fA-F]+|\b\d+)_?(u32|u64|usize|isize|i32|i64)\b", r"\1", e)
        try:
            self.known[enum, name] = int(eval(e, {"__builtins__": {}}))  # numbers and operators only
        except (SyntaxError, NameError, TypeError, AttributeError):
            self.known[enum, name] = text
        return self.known[enum, name]

    def signature(self, of, method):
        result, arguments, flags = method
        codes = [self.code(result, of)] + [self.code(a, of) for a in arguments]
        return " ".join(codes) + (" !" + flags if flags else "")


def document(api):
    types, used = {}, set()
    for name in sorted(api.types):
        t = api.types[name]
        e = {k: t[k] for k in ("kind", "name", "super") if k in t}
        adopts = sorted(x for x in t["adopts"] if x in api.types)
        if adopts:
            e["adopts"] = adopts
        e["methods"] = {k: api.signature(name, m) for k, m in sorted(t["methods"].items())}
        types[name] = e
    types["NSCopying"]["methods"].pop("-copy", None)  # NSObject's
    types["NSMutableCopying"]["methods"].pop("-mutableCopy", None)
    types["NSObject"]["methods"].update(NSOBJECT)
    types["NSObject"]["methods"] = dict(sorted(types["NSObject"]["methods"].items()))
    functions = {n: api.signature("", f) for n, f in sorted(api.functions.items())}
    for s in [s for t in types.values() for s in t["methods"].values()] + list(functions.values()):
        used.update(re.findall(r"[:{](\w+)", s))
    structs, todo = {}, sorted(used)
    while todo:
        n = todo.pop()
        if n not in structs and api.structs.get(n) and n not in api.types:
            structs[n] = [[f, api.code(t, n)] for f, t in api.structs[n]]
            todo += [x for _, c in structs[n] for x in re.findall(r"[:{](\w+)", c)]
    enums = {n: {c: api.constant(n, c) for c in api.constants[n]} for n in sorted(used) if api.constants.get(n)}
    return {"source": f"objc2-{{{','.join(CRATES)}}} {VERSION} (crates.io; Zlib OR Apache-2.0 OR MIT)",
            "types": types, "structs": dict(sorted(structs.items())), "enums": enums, "functions": functions}


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    out = sys.argv[2] if len(sys.argv) > 2 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "facts.json.gz")
    folder, sources = vendor(sys.argv[1]), []
    for c in CRATES:
        for d, _, files in sorted(os.walk(f"{folder}/objc2-{c}/src")):
            for f in sorted(files):
                if f.endswith(".rs"):
                    with open(os.path.join(d, f)) as r:
                        sources.append(r.read())
    doc = document(Api(sources))
    text = json.dumps(doc, separators=(",", ":"), sort_keys=False)
    with open(out, "wb") as f, gzip.GzipFile("", "wb", 9, f, mtime=0) as z:
        z.write(text.encode())
    signatures = [s for t in doc["types"].values() for s in t["methods"].values()]
    print(f"{len(doc['types'])} types, {len(signatures)} methods ({sum('?:' in s for s in signatures)} with an unknown type),",
          f"{len(doc['structs'])} structs, {len(doc['enums'])} enums, {len(doc['functions'])} functions,",
          f"{os.path.getsize(out)} bytes")


if __name__ == "__main__":
    main()
