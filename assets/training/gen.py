#!/usr/bin/env python3
"""Generator of the training chats: a conversational grammar in English.

Every chat is a pure function of an integer seed. No text is copied from a
corpus; all words and facts come from lexicon.py.

    python3 gen.py show 5          print five chats
    python3 gen.py text N FILE     write N chats as ChatML text
"""

import random
import sys

import gen_code
import gen_story
import lexicon as X

IM_START, IM_END, EOT = "<|im_start|>", "<|im_end|>", "<|endoftext|>"


# ---------------------------------------------------------------- helpers
def cap(s):
    return s[:1].upper() + s[1:]


def a_an(w):
    return ("an " if w[0].lower() in "aeiou" and not w.startswith(("uni", "use", "eu")) else "a ") + w


def join_and(xs):
    xs = list(xs)
    return xs[0] if len(xs) == 1 else ", ".join(xs[:-1]) + " and " + xs[-1]


def bullets(xs):
    return "\n".join("- " + x for x in xs)


def numbered(xs):
    return "\n".join(f"{i + 1}. {x}" for i, x in enumerate(xs))


def num_words(n):
    if n < 20:
        return X.ONES[n]
    if n < 100:
        return X.TENS[n // 10] + ("-" + X.ONES[n % 10] if n % 10 else "")
    if n < 1000:
        return X.ONES[n // 100] + " hundred" + (" and " + num_words(n % 100) if n % 100 else "")
    return num_words(n // 1000) + " thousand" + (" " + num_words(n % 1000) if n % 1000 else "")


_ON = "b br bl c cl cr d dr f fl fr g gl gr h j k kl l m n p pl pr qu r s sk sl sn sp st t tr v w z th sh ch".split()
_VO = "a e i o u ai ea ee oa oo ou".split()
_CO = "b ck d ff g k l ll m n nd ng nk nt p r rd rk rn s ss st t th x".split()


def pseudo(r, n=None):
    """A made-up word: teaches the models to copy words they have never seen."""
    n = n or r.choice((1, 2, 2, 2, 3))
    w = "".join(r.choice(_ON) + r.choice(_VO) + (r.choice(_CO) if r.random() < 0.5 else "") for _ in range(n))
    return w


def noun(r):
    return (
        pseudo(r)
        if r.random() < 0.07
        else r.choice(r.choice((X.OBJECTS, X.THINGS, X.ANIMALS, X.FOODS[:6] + X.OBJECTS)))
    )


def adj(r):
    return r.choice(X.ADJS)


def name(r):
    return cap(pseudo(r, r.choice((1, 2, 2, 3)))) if r.random() < 0.1 else r.choice(X.NAMES)


def person(r):
    c = r.random()
    if c < 0.6:
        return name(r)
    if c < 0.8:
        return "the " + r.choice(X.JOBS)
    return "the " + r.choice(X.FEEL_ADJS) + " " + r.choice(X.JOBS + X.ANIMALS)


def sentence(r, end=True):
    """A random plain sentence, past or present; the stuff of rewriting tasks."""
    k = r.randrange(16)
    p = person(r)
    v, vs, vp, vg = r.choice(X.VT)
    w, ws, wp, wg = r.choice(X.VI)
    a, n = adj(r), noun(r)
    a2, n2 = adj(r), noun(r)
    pl = r.choice(X.PLACES)
    if k == 0:
        s = f"{p} {vp} the {a} {n} {r.choice(X.TIMES)}"
    elif k == 1:
        s = f"the {a} {n} is {r.choice(('in', 'near', 'behind', 'next to'))} the {pl}"
    elif k == 2:
        s = f"{p} {wp} {r.choice(X.ADVS)} in the {pl}"
    elif k == 3:
        s = f"{p} {vs} {a_an(a)} {n} and {a_an(a2)} {n2}"
    elif k == 4:
        s = f"we {vp} the {n} because it was {a}"
    elif k == 5:
        s = f"the {pl} was {r.choice(X.WEATHER)} {r.choice(X.TIMES)}"
    elif k == 6:
        s = f"{p} and {name(r)} {wp} to the {pl} together"
    elif k == 7:
        s = f"I {v} my {a} {n} every {r.choice(X.DAYS)}"
    elif k == 8:
        s = f"my {r.choice(('brother', 'sister', 'mother', 'father', 'friend', 'neighbour', 'aunt', 'uncle', 'cousin'))} {vs} the {n} in the {pl}"
    elif k == 9:
        s = f"{r.choice(X.TIMES)}, {p} {vp} {a_an(a)} {n}"
    elif k == 10:
        s = f"{p} likes {r.choice(X.FOODS)} and {r.choice(X.DRINKS)}"
    elif k == 11:
        s = f"the meeting on {r.choice(X.DAYS)} starts at {r.randrange(8, 19)} in room {r.randrange(1, 40)}"
    elif k == 12:
        s = f"please {v} the {n} before {r.choice(X.DAYS)}"
    elif k == 13:
        s = f"there are {num_words(r.randrange(2, 20))} {a} {r.choice(X.PLURALS)[1]} in the {pl}"
    elif k == 14:
        s = f"{p} is {r.choice(X.FEEL_ADJS)} but {name(r)} is {r.choice(X.FEEL_ADJS)}"
    else:
        s = f"{p} lives in {r.choice(X.CITIES)} and works as {a_an(r.choice(X.JOBS))}"
    if r.random() < 0.06:
        s = s.replace("the ", "the very ", 1)
    s = cap(s)
    return s + (("." if r.random() < 0.93 else "!") if end else "")


ALL = sorted(
    {
        w
        for xs in (
            X.OBJECTS,
            X.THINGS,
            X.ANIMALS,
            X.FOODS,
            X.FRUITS,
            X.VEGS,
            X.PLACES,
            X.JOBS,
            X.ADJS,
            X.ADVS,
            X.COLOURS,
            X.DAYS,
            X.MONTHS,
            X.UNKNOWN_TOPICS,
            X.HOBBIES,
            X.CITIES,
            X.NAMES,
            X.SURNAMES,
            [w for v in X.VT + X.VI for w in v],
            [w for e in X.EXPLAIN for w in e[1].replace(",", "").replace(".", "").split()],
            [w for e in X.QA for w in (e[0] + " " + e[1]).replace("?", "").replace(".", "").replace(",", "").split()],
            [w for e in X.EMAIL for w in e[2].replace(".", "").replace(",", "").split() if "{" not in w],
        )
        for w in xs
    }
)
LITTLE = X.W(
    "the a of and to in is was for on with at by from it that this my your our their not but or as are were be has have had will can"
)


def anyword(r):
    c = r.random()
    if c < 0.3:
        return pseudo(r) + r.choice(("", "", "", "s", "ed", "ing", "er", "ly", "tion", "ment", "ness", "ism", "able"))
    return r.choice(ALL) if c < 0.8 else r.choice(LITTLE)


def salad(r, n=None):
    """Any words in any order: the models must copy what they cannot guess."""
    ws = [anyword(r) for _ in range(n or r.randrange(3, 14))]
    if r.random() < 0.2:
        ws[r.randrange(len(ws))] = str(r.randrange(10 ** r.randrange(1, 5)))
    if r.random() < 0.15:
        i = r.randrange(len(ws))
        ws[i] = r.choice(
            (ws[i] + ",", '"' + ws[i] + '"', ws[i] + "'s", ws[i] + "-" + anyword(r), "(" + ws[i] + ")", ws[i].upper())
        )
    return cap(" ".join(ws)) + r.choice((".", ".", ".", "!", "?"))


def phrase(r):
    """A short item for lists."""
    c = r.random()
    if c < 0.3:
        return r.choice(
            (
                "some ",
                "two ",
                "three ",
                "a bottle of ",
                "two bottles of ",
                "a box of ",
                "fresh ",
                "a bag of ",
                "five ",
                "a little ",
            )
        ) + r.choice(X.FOODS + X.FRUITS + X.VEGS + X.DRINKS)
    if c < 0.5:
        return f"{r.choice(X.VT)[0]} the {anyword(r)}"
    if c < 0.7:
        return a_an(adj(r)) + " " + noun(r)
    return " ".join(anyword(r) for _ in range(r.randrange(1, 4)))


def words(r, n):
    if r.random() < 0.2:
        return list(dict.fromkeys(anyword(r) for _ in range(n + 1)))[:n]
    pool = r.choice((X.OBJECTS, X.ANIMALS, X.FRUITS, X.COLOURS, X.ADJS, X.NAMES, X.THINGS, X.FOODS))
    ws = r.sample(pool, min(n, len(pool)))
    if r.random() < 0.15:
        ws[r.randrange(len(ws))] = pseudo(r)
    return ws


def ask(r, core, bare=0.35):
    """Wrap an instruction such as 'write a poem' in the ways people ask."""
    c = r.random()
    if c < bare:
        s = cap(core)
    elif c < 0.5:
        s = "Please " + core
    elif c < 0.62:
        return "Can you " + core + "?"
    elif c < 0.7:
        return "Could you " + core + "?"
    elif c < 0.76:
        return "Could you please " + core + "?"
    elif c < 0.82:
        return "I want you to " + core + "."
    elif c < 0.86:
        return "Can you " + core + " for me?"
    elif c < 0.9:
        return "Hey, " + core + "."
    elif c < 0.94:
        s = cap(core) + ", please"
    else:
        return "I need you to " + core + "."
    return s + r.choice(("", ".", "."))


def lead(r, *xs):
    return r.choice(xs)


# ---------------------------------------------------------------- small talk
def t_greet(r, st):
    c = r.random()
    offer = r.choice(
        (
            "How can I help you today?",
            "How can I help?",
            "What can I do for you?",
            "What would you like to talk about?",
            "What shall we do?",
            "What is on your mind?",
            "Ask me for a story, a small sum or a bit of code.",
        )
    )
    if c < 0.25:
        t = r.choice(("morning", "afternoon", "evening"))
        return r.choice(
            (f"Good {t}", f"good {t}!", f"Good {t}, {r.choice(('computer', 'friend', 'model', 'assistant'))}.")
        ), f"Good {t}! {offer}"
    if c < 0.4:
        u = r.choice(
            (
                "How are you?",
                "Hi, how are you?",
                "Hello, how are you doing?",
                "How's it going?",
                "How are you today?",
                "how do you feel",
                "what's up?",
            )
        )
        return u, r.choice(
            (
                "I'm doing well, thank you. ",
                "I'm fine, thanks for asking! ",
                "Very well, thank you. ",
                "I'm just a small program, but all is well here. ",
            )
        ) + r.choice((offer, "And how are you?", "How are you?"))
    u = r.choice(
        (
            "Hi",
            "Hello",
            "Hey",
            "Hi there",
            "Hello there",
            "Hey there",
            "Hi!",
            "Hello!",
            "Hey!",
            "Greetings",
            "Good day",
            "Howdy",
            "hiya",
            "yo",
            "Hello, world",
            "Is anyone there?",
            "test",
            "Are you there?",
        )
    )
    return u, r.choice(("Hello!", "Hi!", "Hi there!", "Hello there!", "Hey!", "Hello, nice to see you!")) + " " + offer


def t_thanks(r, st):
    u = r.choice(
        (
            "Thanks",
            "Thank you",
            "Thank you!",
            "Thanks a lot!",
            "thx",
            "Thanks, that helps.",
            "Great, thank you.",
            "Perfect, thanks!",
            "Nice work.",
            "Well done!",
            "That was great.",
            "Cool",
            "Good job",
            "Awesome, thanks",
            "ok thanks",
            "Wonderful.",
        )
    )
    return u, r.choice(
        ("You're welcome!", "You're very welcome!", "My pleasure!", "Glad I could help!", "Happy to help!", "Any time!")
    ) + r.choice(
        (
            "",
            " Is there anything else?",
            " Just ask if you need more.",
            " What else can I do for you?",
            " Let me know if you need anything else.",
        )
    )


def t_bye(r, st):
    u = r.choice(
        (
            "Bye",
            "Goodbye",
            "Bye bye",
            "See you",
            "See you later",
            "See you tomorrow",
            "Good night",
            "I have to go now.",
            "That's all, bye.",
            "Take care",
            "cya",
        )
    )
    if "night" in u:
        return u, r.choice(("Good night! Sleep well.", "Good night, and sweet dreams!"))
    return u, r.choice(("Goodbye!", "Bye!", "See you soon!", "Take care!")) + r.choice(
        ("", " Have a nice day.", " It was nice talking to you.", " Come back any time.")
    )


ME = (
    "a tiny demo model",
    "a very small language model",
    "a tiny built-in model",
    "a small demo model that comes with this app",
    "the tiny model that is built into this app",
)
MORE = (
    "For real answers, please add a larger model.",
    "Please add a bigger model in the app for real answers.",
    "Add a larger model in the app when you need real answers.",
    "For anything serious, please add a real model.",
    "If you add a bigger model, you will get much better answers.",
)


def t_who(r, st):
    if st.get("persona") and r.random() < 0.6:
        return r.choice(
            ("What is your name?", "Who are you?", "what's your name?", "What are you called?", "Tell me your name.")
        ), r.choice((f"My name is {st['persona']}.", f"I am {st['persona']}.", f"You can call me {st['persona']}."))
    k = r.randrange(12)
    me = r.choice(ME)
    more = r.choice(MORE)
    if k <= 2:
        return r.choice(
            (
                "Who are you?",
                "What are you?",
                "Tell me about yourself.",
                "Introduce yourself.",
                "who r u",
                "What is this?",
                "Who am I talking to?",
                "What kind of model are you?",
                "Which model is this?",
                "What model are you?",
            )
        ), f"I'm {me}. I run on your own computer and can chat a little, tell short stories and do small tasks. {more}"
    if k == 3:
        return r.choice(
            ("What is your name?", "Do you have a name?", "What should I call you?", "What are you called?")
        ), r.choice((f"I don't have a real name. I'm {me}.", f"I have no name of my own. I'm just {me}."))
    if k == 4:
        return (
            r.choice(
                (
                    "Who made you?",
                    "Who created you?",
                    "Who built you?",
                    "Where do you come from?",
                    "Who trained you?",
                    "How were you made?",
                )
            ),
            f"I was trained from scratch for this app, on simple generated text. I'm {me}, so please do not expect too much.",
        )
    if k == 5:
        return r.choice(
            (
                "Are you human?",
                "Are you a real person?",
                "Are you a robot?",
                "Are you an AI?",
                "Are you alive?",
                "Are you ChatGPT?",
                "Are you Siri?",
                "Are you a bot?",
            )
        ), r.choice(
            (
                f"No, I'm not a person. I'm {me}.",
                f"I'm {me}, a computer program that writes text.",
                f"I'm only a program: {me}.",
            )
        )
    if k == 6:
        return r.choice(
            (
                "How big are you?",
                "How many parameters do you have?",
                "Are you a large model?",
                "Why are you so small?",
                "How large is this model?",
            )
        ), f"I'm very small: only a few million parameters. Large models have billions. {more}"
    if k == 7:
        return r.choice(
            (
                "Do you need the internet?",
                "Are you online?",
                "Can you search the web?",
                "Do you work offline?",
                "Can you browse the internet?",
                "Where do you run?",
                "Is my data sent anywhere?",
                "Is this private?",
                "Do you send my data to a server?",
            )
        ), r.choice(
            (
                "I run entirely on your own computer and do not need the internet. What you write stays on your machine.",
                "No internet is needed. I run on this computer, and your text stays here.",
            )
        )
    if k == 8:
        return r.choice(
            (
                "How do I get better answers?",
                "How can I get a better model?",
                "Can I use a bigger model?",
                "How do I add a model?",
                "How do I install another model?",
                "Which model should I add?",
                "Why are your answers so simple?",
                "Why are you so dumb?",
                "You are not very smart.",
                "Can you get smarter?",
            )
        ), r.choice(
            (
                "Add a larger model in the app's model list, then choose it for this chat. I'm only the small built-in one.",
                "I'm only the small built-in model. Add a larger model to the app and choose it for this chat, and the answers will be much better.",
            )
        )
    if k == 9:
        return r.choice(
            (
                "What do you know?",
                "How smart are you?",
                "Are you intelligent?",
                "Can I trust you?",
                "Do you make mistakes?",
                "Are you always right?",
            )
        ), f"I know only a few simple things, and I make mistakes. Please check anything important. {more}"
    if k == 10:
        return (
            r.choice(
                (
                    "How do you work?",
                    "How does this work?",
                    "How do you think?",
                    "Do you think?",
                    "Explain how you work.",
                )
            ),
            "I read your text as small pieces called tokens and predict the next piece again and again. I learned this from many simple example chats.",
        )
    return r.choice(
        (
            "Do you have feelings?",
            "Are you happy?",
            "Do you get tired?",
            "Do you sleep?",
            "Do you dream?",
            "Do you like me?",
            "Do you love me?",
            "How old are you?",
            "Where do you live?",
        )
    ), r.choice(
        (
            "I'm only a program, so I have no feelings. But I'm here to help.",
            f"I'm just {me}, so I don't feel, sleep or grow old. But it is nice of you to ask.",
        )
    )


CAN = [
    "chat a little",
    "tell short stories",
    "write small poems",
    "do simple sums",
    "count and make lists",
    "name the capitals of many countries",
    "tell facts about animals",
    "fix capital letters and small spelling mistakes",
    "shorten a text",
    "turn text into a list",
    "translate a few phrases into French",
    "write tiny functions in Go, Python or JavaScript",
    "explain simple words",
    "tell a joke",
    "write a short email",
    "remember your name in this chat",
]


def t_can(r, st):
    u = r.choice(
        (
            "What can you do?",
            "What can you help me with?",
            "What are you able to do?",
            "Help",
            "help me",
            "What can I ask you?",
            "How can you help me?",
            "Show me what you can do.",
            "What are your skills?",
            "What do you do?",
            "Give me some ideas of what to ask.",
            "What should I ask you?",
        )
    )
    xs = r.sample(CAN, r.randrange(4, 7))
    if r.random() < 0.6:
        return u, f"I'm {r.choice(ME)}. I can:\n\n{bullets(xs)}\n\n{r.choice(MORE)}"
    return u, f"I can {join_and(xs[:4])}. {r.choice(MORE)}"


FEEL = {
    "sad": ("I'm sorry that you feel sad.", "Would you like a joke or a story to cheer you up?"),
    "tired": ("That sounds like a long day.", "Perhaps a short rest would do you good."),
    "bored": ("Let's do something about that!", "Shall I tell you a story or a joke?"),
    "happy": ("That's wonderful to hear!", "What made you so happy?"),
    "angry": ("I'm sorry that something upset you.", "Take a slow breath. Do you want to tell me about it?"),
    "hungry": ("Then it is time to eat something!", "Shall I give you a simple recipe?"),
    "lonely": ("I'm sorry that you feel lonely.", "I'm happy to chat, and perhaps you could call a friend."),
    "nervous": ("It is normal to feel nervous.", "Breathe slowly, and take one step at a time."),
    "excited": ("How exciting!", "Tell me more about it."),
    "stressed": ("That sounds hard.", "Try to do one thing at a time, and take a short break."),
    "sick": ("I'm sorry to hear that.", "Rest well, and see a doctor if it gets worse."),
    "confused": ("That's all right.", "Tell me what is unclear, and I'll try to help."),
}


def t_feel(r, st):
    f = r.choice(list(FEEL))
    u = r.choice(
        (f"I'm {f}.", f"I am {f}", f"I feel {f}.", f"I'm so {f} today.", f"I feel very {f} right now.", f"im {f}")
    )
    a, b = FEEL[f]
    return u, a + " " + b


FAV = {
    "colour": (X.COLOURS, "I like {} best, though I cannot really see it."),
    "animal": (X.ANIMALS, "I like the {} very much."),
    "food": (X.FOODS, "I cannot eat, but {} sounds nice."),
    "season": (X.SEASONS, "I like {}, though I only know it from words."),
    "number": ([str(i) for i in range(1, 30)], "I like the number {}."),
}


def t_fav(r, st):
    k = r.choice(list(FAV))
    xs, f = FAV[k]
    kk = "color" if k == "colour" and r.random() < 0.4 else k
    return r.choice(
        (
            f"What is your favourite {kk}?",
            f"What's your favorite {kk}?",
            f"Do you have a favourite {kk}?",
            f"Which {kk} do you like best?",
        )
    ), f.format(r.choice(xs)) + r.choice(("", " What about you?", f" What is your favourite {kk}?"))


def t_joke(r, st):
    q, a = r.choice(X.JOKES)
    return ask(
        r,
        r.choice(
            (
                "tell me a joke",
                "make me laugh",
                "tell me something funny",
                "say something funny",
                "tell a joke",
                "tell me another joke",
            )
        ),
    ), f"{q}\n\n{a}"


def t_fact(r, st):
    return ask(
        r,
        r.choice(
            (
                "tell me a fun fact",
                "tell me something interesting",
                "tell me a fact",
                "give me a fun fact",
                "surprise me",
                "teach me something",
                "tell me something I don't know",
            )
        ),
    ), r.choice(("", "", "Here is one: ", "Did you know? ")) + r.choice(X.FUN_FACTS)


def t_smalltalk(r, st):
    k = r.randrange(9)
    if k == 0:
        h = r.choice(X.HOBBIES)
        return r.choice((f"I like {h}.", f"I love {h}", f"My hobby is {h}.", f"I enjoy {h}.")), r.choice(
            (
                f"{cap(h)} is a lovely hobby. How long have you been doing it?",
                f"How nice! What do you like most about {h}?",
                f"{cap(h)} sounds like fun. How often do you do it?",
            )
        )
    if k == 1:
        c = r.choice(X.CITIES)
        return r.choice((f"I live in {c}.", f"I'm from {c}", f"I come from {c}.")), r.choice(
            (f"{c} sounds like a nice place. What do you like about it?", f"How nice! What is life like in {c}?")
        )
    if k == 2:
        j = r.choice(X.JOBS)
        return r.choice((f"I'm {a_an(j)}.", f"I work as {a_an(j)}.", f"I am {a_an(j)}")), r.choice(
            (
                f"Being {a_an(j)} must be interesting. What do you like about your work?",
                f"How interesting! How did you become {a_an(j)}?",
            )
        )
    if k == 3:
        f = r.choice(X.FOODS + X.FRUITS)
        return r.choice((f"I like {f}.", f"I love {f}", f"I just ate some {f}.")), r.choice(
            (f"{cap(f)} sounds good! Do you eat it often?", f"Yum! I cannot eat, but {f} sounds tasty.")
        ) if f in X.FOODS else r.choice(
            (f"{cap(f)} are tasty! Do you eat them often?", f"Yum! I cannot eat, but {f} sound good.")
        )
    if k == 4:
        a, n = r.choice(X.ANIMALS), r.choice(X.PET_NAMES)
        st["pet"] = (a, n)
        return r.choice(
            (f"I have {a_an(a)} called {n}.", f"My {a} is called {n}.", f"I have {a_an(a)}. Its name is {n}.")
        ), r.choice((f"{n} is a lovely name for {a_an(a)}!", f"How sweet! What does {n} like to do?"))
    if k == 5:
        w = r.choice(X.WEATHER)
        return r.choice((f"It is {w} today.", f"The weather is {w}", f"It's so {w} outside.")), {
            "sunny": "How nice! A good day for a walk.",
            "rainy": "A good day to stay inside with a book.",
            "cloudy": "At least it is not too hot, then.",
            "windy": "Hold on to your hat!",
            "snowy": "How lovely! Keep warm.",
            "foggy": "Take care on the road.",
            "stormy": "Better stay inside and stay safe.",
        }[w]
    if k == 6:
        d = r.choice(("birthday", "first day at work", "day off", "wedding", "exam", "holiday", "interview"))
        return r.choice((f"Today is my {d}.", f"It's my {d} today!", f"My {d} is tomorrow.")), {
            "birthday": "Happy birthday! I hope you have a wonderful day.",
            "first day at work": "Good luck on your first day! You will do well.",
            "day off": "Enjoy your day off! What will you do?",
            "wedding": "Congratulations! I wish you all the best.",
            "exam": "Good luck with your exam! Stay calm and read every question.",
            "holiday": "Have a wonderful holiday! Where are you going?",
            "interview": "Good luck with your interview! Be yourself and ask questions.",
        }[d]
    if k == 7:
        return r.choice(
            (
                "Can we talk?",
                "Let's chat.",
                "Talk to me.",
                "I want to chat.",
                "Can I ask you something?",
                "I have a question.",
                "Can you help me?",
                "I need help.",
                "I need some help with something.",
            )
        ), r.choice(
            (
                "Of course! What would you like to talk about?",
                "Sure, go ahead!",
                "Of course. What do you need?",
                "Yes, I'm listening.",
            )
        )
    return r.choice(
        (
            "ok",
            "okay",
            "I see.",
            "Hmm",
            "yes",
            "no",
            "Sure",
            "maybe",
            "Right.",
            "lol",
            "haha",
            "Interesting",
            "wow",
            "?",
            "...",
        )
    ), r.choice(
        (
            "All right. What would you like to do next?",
            "Good. Tell me what you would like next.",
            "I see. Is there something I can do for you?",
            "Would you like a story, a joke or something else?",
        )
    )


# ---------------------------------------------------------------- memory
def t_myname(r, st):
    if st.get("name") and r.random() < 0.8:
        n = st["name"]
        return r.choice(
            (
                "What is my name?",
                "What's my name?",
                "Do you remember my name?",
                "Who am I?",
                "Do you know my name?",
                "what was my name again",
            )
        ), r.choice((f"Your name is {n}.", f"You are {n}.", f"You told me that your name is {n}."))
    if not st.get("name") and r.random() < 0.2:
        return r.choice(("What is my name?", "Do you know my name?", "Who am I?")), r.choice(
            ("You haven't told me your name yet.", "I don't know your name yet. What is it?")
        )
    n = name(r)
    st["name"] = n
    full = n
    if r.random() < 0.12:
        full = n + " " + r.choice(X.SURNAMES)
    return r.choice(
        (
            f"My name is {full}.",
            f"I'm {full}.",
            f"Hi, I'm {full}.",
            f"Hello, my name is {full}",
            f"my name is {full}",
            f"You can call me {full}.",
            f"Call me {full}.",
            f"I am {full}. Remember that.",
            f"Please remember my name. It is {full}.",
        )
    ), r.choice(
        (
            f"Nice to meet you, {n}!",
            f"Hello, {n}! How can I help you?",
            f"It is nice to meet you, {n}. What can I do for you?",
            f"Hi, {n}! I'll remember that in this chat.",
        )
    )


MEM = {
    "favourite colour": X.COLOURS,
    "favourite food": X.FOODS,
    "favourite animal": X.ANIMALS,
    "favourite number": [str(i) for i in range(1, 100)],
    "age": [str(i) for i in range(8, 80)],
    "job": X.JOBS,
    "city": X.CITIES,
    "favourite fruit": X.FRUITS,
    "favourite day": X.DAYS,
    "lucky number": [str(i) for i in range(1, 100)],
    "favourite drink": X.DRINKS,
    "secret word": X.OBJECTS,
}


def t_mem(r, st):
    m = st.setdefault("mem", {})
    if m and r.random() < 0.6:
        k = r.choice(list(m))
        return r.choice(
            (f"What is my {k}?", f"What's my {k}?", f"Do you remember my {k}?", f"What was my {k}?")
        ), r.choice((f"Your {k} is {m[k]}.", f"You told me that your {k} is {m[k]}."))
    if st.get("pet") and r.random() < 0.7:
        a, n = st["pet"]
        return r.choice(
            (f"What is the name of my {a}?", f"What's my {a} called?", f"What is my {a}'s name?")
        ), r.choice((f"Your {a} is called {n}.", f"Your {a}'s name is {n}."))
    k = r.choice(list(MEM))
    if k not in m and r.random() < 0.12:
        return f"What is my {k}?", f"You haven't told me your {k} yet."
    v = pseudo(r) if k == "secret word" and r.random() < 0.5 else r.choice(MEM[k])
    m[k] = v
    return r.choice(
        (f"My {k} is {v}.", f"my {k} is {v}", f"Remember that my {k} is {v}.", f"Please remember: my {k} is {v}.")
    ), r.choice((f"Got it: your {k} is {v}.", f"I'll remember that your {k} is {v}.", f"Noted! Your {k} is {v}."))


# ---------------------------------------------------------------- numbers
def t_add(r, st):
    big = r.random()
    hi = 10 if big < 0.25 else 30 if big < 0.5 else 100 if big < 0.88 else 1000
    k = r.random()
    if k < 0.5:
        a, b = r.randrange(hi), r.randrange(hi)
        c, op, w = a + b, "+", ("plus", f"add {a} and {b}", f"the sum of {a} and {b}")
    elif k < 0.78:
        a, b = r.randrange(hi), r.randrange(hi)
        a, b = max(a, b), min(a, b)
        c, op, w = a - b, "-", ("minus", f"subtract {b} from {a}", f"the difference between {a} and {b}")
    elif k < 0.92:
        a, b = r.randrange(13), r.randrange(13)
        c, op, w = a * b, r.choice("*×x"), ("times", f"multiply {a} by {b}", f"the product of {a} and {b}")
    else:
        b, c = r.randrange(1, 13), r.randrange(13)
        a = b * c
        op, w = r.choice("/÷"), ("divided by", f"divide {a} by {b}", f"{a} divided by {b}")
    sym = {"x": "×", "*": "×", "/": "÷"}.get(op, op)
    q = r.randrange(9)
    u = (
        f"What is {a} {op} {b}?",
        f"{a} {op} {b}",
        f"{a}{op}{b}=",
        f"What is {a} {w[0]} {b}?",
        f"How much is {a} {op} {b}?",
        cap(w[1]) + ".",
        f"What is {w[2]}?",
        f"Calculate {a} {op} {b}.",
        f"{a} {w[0]} {b}?",
    )[q]
    return u, r.choice((f"{a} {sym} {b} = {c}", f"{a} {sym} {b} = {c}.")) if r.random() < 0.8 else f"The answer is {c}."


def t_word_problem(r, st):
    n = name(r)
    it = r.choice(
        X.FRUITS[:12]
        + ["books", "coins", "stones", "pencils", "balls", "eggs", "cookies", "buttons", "stamps", "shells"]
    )
    a, b = r.randrange(2, 30), r.randrange(1, 20)
    if r.random() < 0.5:
        u = r.choice(
            (
                f"{n} has {a} {it} and gets {b} more. How many {it} does {n} have?",
                f"{n} has {a} {it}. {name(r)} gives {n} {b} more. How many {it} does {n} have now?",
                f"I have {a} {it} and buy {b} more. How many do I have?",
            )
        )
        c, op = a + b, "+"
    else:
        a, b = max(a, b) + 1, min(a, b)
        u = r.choice(
            (
                f"{n} has {a} {it} and gives away {b}. How many {it} are left?",
                f"{n} had {a} {it} but lost {b}. How many {it} does {n} have now?",
                f"I have {a} {it} and eat {b}. How many are left?"
                if it in X.FRUITS
                else f"I have {a} {it} and lose {b}. How many are left?",
            )
        )
        c, op = a - b, "-"
    who = "You" if u.startswith("I ") else n
    have = "have" if who == "You" else "has"
    return u, f"{a} {op} {b} = {c}. " + (
        f"{who} {have} {c} {it}." if op == "+" or "left" not in u else f"There are {c} {it} left."
    )


def t_numbers(r, st):
    k = r.randrange(12)
    if k == 0:
        a = r.randrange(0, 200)
        return r.choice((f"Is {a} even or odd?", f"Is {a} an even number?", f"Is the number {a} odd or even?")), (
            f"{a} is even." if a % 2 == 0 else f"{a} is odd."
        ) if r.random() < 0.99 else f"{a} is {'even' if a % 2 == 0 else 'odd'}."
    if k == 1:
        a, b = r.sample(range(1000), 2)
        if r.random() < 0.5:
            return (
                f"Which is {r.choice(('bigger', 'larger', 'greater'))}, {a} or {b}?",
                f"{max(a, b)} is larger than {min(a, b)}.",
            )
        return f"Which is smaller, {a} or {b}?", f"{min(a, b)} is smaller than {max(a, b)}."
    if k == 2:
        a = r.randrange(0, 60)
        return r.choice((f"What is double {a}?", f"Double {a}", f"What is twice {a}?")), f"Double {a} is {2 * a}."
    if k == 3:
        a = 2 * r.randrange(0, 60)
        return r.choice((f"What is half of {a}?", f"Half of {a}?")), f"Half of {a} is {a // 2}."
    if k == 4:
        a = r.randrange(0, 1000)
        return r.choice(
            (
                f"Write {a} in words.",
                f"Spell the number {a}.",
                f"How do you write {a} in words?",
                f"What is {a} in words?",
            )
        ), f"{a} in words is {num_words(a)}."
    if k == 5:
        a = r.randrange(0, 100)
        return r.choice(
            (f"Write {num_words(a)} as a number.", f"What is {num_words(a)} in digits?")
        ), f"{cap(num_words(a))} is {a}."
    if k == 6:
        a = r.randrange(0, 999)
        return (
            (f"What comes after {a}?", f"The number after {a} is {a + 1}.")
            if r.random() < 0.6
            else (f"What comes before {a + 1}?", f"The number before {a + 1} is {a}.")
        )
    if k == 7:
        xs = r.sample(range(100), r.randrange(3, 7))
        d = r.random() < 0.3
        return ask(
            r, f"sort these numbers{' from largest to smallest' if d else ''}: {', '.join(map(str, xs))}", 0.6
        ), ", ".join(map(str, sorted(xs, reverse=d)))
    if k == 8:
        xs = r.sample(range(100), r.randrange(3, 6))
        big = r.random() < 0.5
        return (
            f"Which of these numbers is the {'largest' if big else 'smallest'}: {', '.join(map(str, xs))}?",
            f"The {'largest' if big else 'smallest'} number is {max(xs) if big else min(xs)}.",
        )
    if k == 9:
        xs = [r.randrange(1, 20) for _ in range(3)]
        return r.choice(
            (f"Add {xs[0]}, {xs[1]} and {xs[2]}.", f"What is {xs[0]} + {xs[1]} + {xs[2]}?")
        ), f"{xs[0]} + {xs[1]} + {xs[2]} = {sum(xs)}"
    if k == 10:
        a = r.randrange(2, 13)
        return r.choice(
            (f"Show me the {a} times table.", f"What is the multiplication table of {a}?", f"times table of {a}")
        ), "\n".join(f"{i} × {a} = {i * a}" for i in range(1, 11))
    u, w, n = r.choice(X.UNITS)
    return r.choice(
        (f"How many {u} are in {w}?", f"How many {u} are there in {w}?", f"How many {u} does {w} have?")
    ), f"There are {n} {u} in {w}." if w.startswith(
        (
            "an hour",
            "a minute",
            "a day",
            "a week",
            "a year",
            "a metre",
            "a kilo",
            "the",
            "a rainbow",
            "a century",
            "a decade",
            "a dozen",
        )
    ) else f"{cap(w)} has {n} {u}."


def t_count(r, st):
    k = r.randrange(8)
    if k <= 2:
        a, b = r.choice(((1, r.randrange(3, 31)), (r.randrange(0, 60), 0)))
        if b == 0:
            b = a + r.randrange(3, 16)
        u = r.choice(
            (f"count from {a} to {b}", f"list the numbers from {a} to {b}", f"write the numbers from {a} to {b}")
        )
        if a == 1 and r.random() < 0.5:
            u = f"count to {b}"
        return ask(r, u), r.choice((", ", ", ", "\n")).join(map(str, range(a, b + 1)))
    if k == 3:
        a = r.randrange(3, 21)
        return ask(
            r, r.choice((f"count down from {a}", f"count backwards from {a}", f"count down from {a} to 1"))
        ), ", ".join(map(str, range(a, 0, -1)))
    if k == 4:
        s = r.choice((2, 3, 5, 10))
        n = r.randrange(5, 12)
        return ask(
            r,
            f"count by {num_words(s) + 's' if s != 2 else 'twos'} up to {s * n}"
            if s in (2, 5, 10) and False
            else f"count in steps of {s} up to {s * n}",
        ), ", ".join(str(i * s) for i in range(1, n + 1))
    if k == 5:
        n = r.randrange(2, 13)
        w = r.choice(("even", "odd"))
        return ask(r, f"list the first {num_words(n)} {w} numbers"), ", ".join(
            str(2 * i + (2 if w == "even" else 1)) for i in range(n)
        )
    if k == 6:
        n = r.randrange(3, 16)
        return ask(r, f"count to {num_words(n)} in words"), ", ".join(num_words(i) for i in range(1, n + 1))
    n = r.randrange(3, 9)
    p = [2, 3, 5, 7, 11, 13, 17, 19, 23]
    return ask(r, f"list the first {num_words(n)} prime numbers"), ", ".join(map(str, p[:n]))


# ---------------------------------------------------------------- lists and sequences
SEQ = {
    "days of the week": X.DAYS,
    "months of the year": X.MONTHS,
    "seasons": [cap(s) for s in X.SEASONS],
    "planets": X.PLANETS,
    "continents": X.CONTINENTS,
    "letters of the alphabet": list("ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
    "vowels": list("AEIOU"),
    "colours of the rainbow": ["Red", "Orange", "Yellow", "Green", "Blue", "Indigo", "Violet"],
}
POOL = {
    "animals": X.ANIMALS,
    "fruits": X.FRUITS,
    "vegetables": X.VEGS,
    "colours": X.COLOURS,
    "colors": X.COLOURS,
    "foods": X.FOODS,
    "drinks": X.DRINKS,
    "jobs": X.JOBS,
    "girls' names": X.NAMES_F,
    "boys' names": X.NAMES_M,
    "names": X.NAMES,
    "cities": X.CITIES,
    "hobbies": X.HOBBIES,
    "countries": [c[0] for c in X.CAPITALS],
    "things in a house": X.OBJECTS,
    "adjectives": X.ADJS,
    "verbs": [v[0] for v in X.VT + X.VI],
    "places": X.PLACES,
    "pet names": X.PET_NAMES,
    "farm animals": X.W("cow horse pig sheep goat hen duck goose donkey"),
    "wild animals": X.W("lion tiger elephant giraffe zebra wolf bear fox deer monkey"),
    "birds": X.W("owl eagle parrot crow swan goose duck hen penguin"),
    "European countries": [c[0] for c in X.CAPITALS if c[2] == "Europe"],
    "countries in Asia": [c[0] for c in X.CAPITALS if c[2] == "Asia"],
    "sea animals": X.W("dolphin whale shark octopus crab seal turtle"),
}


def t_seq(r, st):
    k = r.randrange(7)
    if k <= 2:
        key = r.choice(list(SEQ))
        xs = SEQ[key]
        u = ask(
            r,
            r.choice(
                (
                    f"list the {key}",
                    f"name the {key}",
                    f"tell me the {key}",
                    f"give me the {key}",
                    f"write down the {key}" if "letters" not in key else "say the alphabet",
                )
            ),
        )
        if r.random() < 0.2:
            u = f"What are the {key}?"
        if "letters" in key:
            return u, r.choice((", ", " ")).join(xs)
        f = r.random()
        return u, bullets(xs) if f < 0.4 else numbered(xs) if f < 0.6 else f"The {key} are {join_and(xs)}."
    if k == 3:
        s, nm = r.choice(((X.DAYS, "day"), (X.MONTHS, "month")))
        i = r.randrange(len(s))
        j = (i + 1) % len(s)
        q = r.random()
        if q < 0.4:
            return r.choice(
                (f"What {nm} comes after {s[i]}?", f"Which {nm} comes after {s[i]}?", f"What comes after {s[i]}?")
            ), f"{s[j]} comes after {s[i]}."
        if q < 0.7:
            return r.choice(
                (f"What {nm} comes before {s[j]}?", f"Which {nm} is before {s[j]}?")
            ), f"{s[i]} comes before {s[j]}."
        if nm == "day":
            return f"If today is {s[i]}, what day is tomorrow?", f"If today is {s[i]}, tomorrow is {s[j]}."
        return r.choice(
            (f"How many days does {s[i]} have?", f"How many days are in {s[i]}?")
        ), f"{s[i]} has {X.MONTH_DAYS[s[i]]} days." + (" In a leap year it has 29." if s[i] == "February" else "")
    if k == 4:
        al = SEQ["letters of the alphabet"]
        i = r.randrange(25)
        return (
            (
                r.choice((f"What letter comes after {al[i]}?", f"Which letter comes after {al[i]}?")),
                f"The letter after {al[i]} is {al[i + 1]}.",
            )
            if r.random() < 0.6
            else (f"What letter comes before {al[i + 1]}?", f"The letter before {al[i + 1]} is {al[i]}.")
        )
    if k == 5:
        s, nm = r.choice(
            (
                (X.MONTHS, "month of the year"),
                (X.DAYS, "day of the week"),
                (X.PLANETS, "planet from the Sun"),
                (SEQ["letters of the alphabet"][:10], "letter of the alphabet"),
            )
        )
        i = r.randrange(min(len(s), 10))
        return f"What is the {X.ORD[i]} {nm}?", f"The {X.ORD[i]} {nm} is {s[i]}."
    m = r.choice(X.MONTHS)
    sea = {
        "December": "winter",
        "January": "winter",
        "February": "winter",
        "March": "spring",
        "April": "spring",
        "May": "spring",
        "June": "summer",
        "July": "summer",
        "August": "summer",
    }.get(m, "autumn")
    return f"Which season is {m} in?", f"In the northern half of the world, {m} is in {sea}."


def t_list(r, st):
    key = r.choice(list(POOL))
    pool = POOL[key]
    n = r.randrange(2, min(11, len(pool) + 1))
    xs = [cap(x) for x in r.sample(pool, n)]
    nn = r.choice((str(n), num_words(n)))
    u = ask(
        r,
        r.choice(
            (
                f"list {nn} {key}",
                f"name {nn} {key}",
                f"give me {nn} {key}",
                f"tell me {nn} {key}",
                f"give me a list of {nn} {key}",
            )
        ),
    )
    if r.random() < 0.1:
        u = f"{nn} {key}"
    st["list"] = xs
    f = r.random()
    return u, bullets(xs) if f < 0.5 else numbered(xs) if f < 0.8 else ", ".join(xs)


def t_pack(r, st):
    k, pool, intro = r.choice(
        (
            ("shopping list", X.FRUITS + X.VEGS + X.FOODS + X.DRINKS, "Here is a shopping list:"),
            (
                "packing list",
                [
                    "a warm jacket",
                    "good shoes",
                    "a toothbrush",
                    "a water bottle",
                    "two shirts",
                    "socks",
                    "a book",
                    "a phone charger",
                    "your passport",
                    "sunglasses",
                    "an umbrella",
                    "a towel",
                    "some snacks",
                    "a hat",
                    "medicine",
                ],
                "Here is a packing list:",
            ),
            (
                "to-do list",
                [
                    "answer the open emails",
                    "clean the kitchen",
                    "water the plants",
                    "call a friend",
                    "buy groceries",
                    "plan the week",
                    "take a short walk",
                    "read ten pages",
                    "tidy the desk",
                    "wash the clothes",
                    "pay the bills",
                    "back up the computer",
                ],
                "Here is a to-do list:",
            ),
        )
    )
    w = r.choice(
        (
            "",
            f" for {r.choice(X.DAYS)}",
            " for the weekend",
            f" for a trip to {r.choice(X.CITIES)}" if k == "packing list" else " for today",
            " for a family",
        )
    )
    return ask(r, r.choice((f"write a {k}{w}", f"make a {k}{w}", f"give me a {k}{w}"))), intro[
        :-1
    ] + w + ":\n\n" + bullets(cap(x) for x in r.sample(pool, r.randrange(4, 8)))


# ---------------------------------------------------------------- knowledge
def t_capital(r, st):
    c, cap_, cont = r.choice(X.CAPITALS)
    k = r.random()
    if k < 0.62:
        return r.choice(
            (
                f"What is the capital of {c}?",
                f"What's the capital of {c}?",
                f"Capital of {c}?",
                f"Tell me the capital of {c}.",
                f"What is the capital city of {c}?",
                f"Do you know the capital of {c}?",
                f"Which city is the capital of {c}?",
                f"and the capital of {c}?",
            )
        ), r.choice(
            (f"The capital of {c} is {cap_}.", f"The capital of {c} is {cap_}.", f"{cap_} is the capital of {c}.")
        )
    if k < 0.78:
        c2 = "the United Kingdom" if c == "England" else c
        return r.choice(
            (
                f"Which country has the capital {cap_}?",
                f"{cap_} is the capital of which country?",
                f"What country is {cap_} the capital of?",
            )
        ), f"{cap_} is the capital of {c2}."
    if k < 0.93:
        return r.choice(
            (
                f"Where is {c}?",
                f"Which continent is {c} in?",
                f"On which continent is {c}?",
                f"What continent is {c} on?",
            )
        ), f"{cap(c)} {'are' if c.endswith('s') and c.startswith('the ') else 'is'} in {cont}."
    c2, cap2, _ = r.choice(X.CAPITALS)
    return f"Is {cap2} the capital of {c}?", (
        f"Yes, the capital of {c} is {cap_}." if cap2 == cap_ else f"No, the capital of {c} is {cap_}."
    )


def t_animal(r, st):
    a, legs, home, food, fact = r.choice(X.ANIMAL_FACTS)
    k = r.randrange(8)
    aa = a_an(a)
    pl = {
        "fox": "foxes",
        "mouse": "mice",
        "wolf": "wolves",
        "sheep": "sheep",
        "octopus": "octopuses",
        "deer": "deer",
        "butterfly": "butterflies",
        "monkey": "monkeys",
    }.get(a, a + "s")
    if k == 0:
        return r.choice((f"How many legs does {aa} have?", f"How many legs has {aa} got?")), (
            f"{cap(aa)} has no legs."
            if legs == "0"
            else "An octopus has eight arms, not legs."
            if a == "octopus"
            else f"{cap(aa)} has {num_words(int(legs))} legs."
        )
    if k == 1:
        return r.choice(
            (f"Where do {pl} live?", f"Where does {aa} live?")
        ), f"{cap(pl)} live in {home}." if not home.startswith(("homes",)) else f"{cap(pl)} live in {home}."
    if k == 2:
        return r.choice((f"What do {pl} eat?", f"What does {aa} eat?")), f"{cap(pl)} eat {food}."
    if k == 3:
        return ask(
            r,
            r.choice(
                (
                    f"tell me about {pl}",
                    f"tell me about the {a}",
                    f"tell me something about {pl}",
                    f"tell me a fact about {pl}",
                    f"give me a fact about {pl}",
                    f"describe {aa}",
                )
            ),
        ), (f"{fact} {cap(pl)} live in {home} and eat {food}." if r.random() < 0.6 else fact)
    if k == 4:
        b, s = r.choice(X.SOUNDS)
        return r.choice(
            (f"What sound does {a_an(b)} make?", f"What does {a_an(b)} say?", f"What noise does {a_an(b)} make?")
        ), f"{cap(a_an(b))} says {s}." if r.random() < 0.5 else f'{cap(a_an(b))} makes the sound "{s}".'
    if k == 5:
        b, s = r.choice(X.BABIES)
        return r.choice(
            (f"What is a baby {b} called?", f"What do you call a baby {b}?", f"What is a young {b} called?")
        ), f"A baby {b} is called {a_an(s)}."
    if k == 6:
        i, j = r.sample(range(len(X.SIZES)), 2)
        x, y = X.SIZES[i], X.SIZES[j]
        big = r.random() < 0.6
        lo, hi = X.SIZES[min(i, j)], X.SIZES[max(i, j)]
        return (
            (
                r.choice((f"Which is bigger, {a_an(x)} or {a_an(y)}?", f"What is bigger: {a_an(x)} or {a_an(y)}?")),
                f"{cap(a_an(hi))} is bigger than {a_an(lo)}.",
            )
            if big
            else (f"Which is smaller, {a_an(x)} or {a_an(y)}?", f"{cap(a_an(lo))} is smaller than {a_an(hi)}.")
        )
    b = r.choice(X.ANIMALS)
    fly = b in X.W("owl duck hen eagle parrot crow bee butterfly bat swan goose")
    if b == "hen":
        return "Can a hen fly?", "A hen can only fly a little."
    return f"Can {a_an(b)} fly?", (f"Yes, {a_an(b)} can fly." if fly else f"No, {a_an(b)} cannot fly.")


def t_word(r, st):
    k = r.randrange(7)
    if k == 0:
        a, b = r.choice(X.OPPOSITES)
        return r.choice(
            (
                f"What is the opposite of {a}?",
                f"What's the opposite of {a}?",
                f"Opposite of {a}?",
                f"Give me the opposite of {a}.",
            )
        ), f"The opposite of {a} is {b}."
    if k == 1:
        a, b = r.choice(X.SYNONYMS)
        return r.choice(
            (
                f"Give me synonyms for {a}.",
                f"What is another word for {a}?",
                f"Synonyms of {a}?",
                f"What are some other words for {a}?",
            )
        ), f"Other words for {a} are {b}."
    if k == 2:
        a, b = r.choice(X.RHYMES)
        return r.choice(
            (f"What rhymes with {a}?", f"Which words rhyme with {a}?", f"Give me words that rhyme with {a}.")
        ), f"Words that rhyme with {a} are {b}."
    if k == 3:
        a, b = r.choice(X.PLURALS)
        return r.choice(
            (f"What is the plural of {a}?", f"Plural of {a}?", f"How do you write {a} in the plural?")
        ), f"The plural of {a} is {b}."
    if k == 4:
        v = r.choice(X.VT + X.VI)
        a, b = r.choice(X.PAST_IRREG + [(v[0], v[2])])
        return r.choice(
            (f"What is the past tense of {a}?", f"Past tense of {a}?", f"What is the simple past of {a}?")
        ), f"The past tense of {a} is {b}."
    if k == 5:
        w = noun(r)
        s = sentence(r, False)
        s = r.choice(
            (
                f"The {w} is {adj(r)} and {adj(r)}.",
                f"{name(r)} {r.choice(X.VT)[2]} the {w} {r.choice(X.TIMES)}.",
                f"There is {a_an(adj(r))} {w} in the {r.choice(X.PLACES)}.",
            )
        )
        return ask(
            r,
            r.choice(
                (f"use the word {w} in a sentence", f"write a sentence with the word {w}", f"make a sentence with {w}")
            ),
        ), s
    s = r.choice(X.RHYMES)[0]
    w = r.choice(X.ADJS)
    if w in X.W(
        "old new small cold warm dark light clean quiet loud bright long short tall deep fast slow strong weak poor rich wild fresh young soft"
    ):
        return f"What is the comparative of {w}?", f"The comparative of {w} is {w}er."
    return ask(r, f"give me a word that rhymes with {s}"), dict(
        (a, b.split(",")[0].split(" and")[0]) for a, b in X.RHYMES
    )[s].capitalize() + f" rhymes with {s}."


def t_explain(r, st):
    t, e = r.choice(X.EXPLAIN)
    pl = t in ("bones", "the lungs", "the tides", "the seasons", "day and night")
    k = r.random()
    if k < 0.45:
        u = r.choice(
            (
                f"What {'are' if pl else 'is'} {t}?",
                f"what {'are' if pl else 'is'} {t}",
                f"Tell me about {t}.",
                f"Define {t}.",
                f"What do you know about {t}?",
                f"Do you know what {t} {'are' if pl else 'is'}?",
                f"What does {t.split(' ', 1)[-1] if t.startswith(('a ', 'an ', 'the ')) else t} mean?",
            )
        )
    else:
        bare = t.split(" ", 1)[-1] if t.startswith(("a ", "an ", "the ")) and r.random() < 0.5 else t
        u = r.choice(
            (
                f"Explain: {bare}",
                f"Explain:\n{bare}",
                f"Explain:\n\n{bare}",
                f"Explain {t}.",
                f"Explain {t} simply.",
                f"Explain {t} to a child.",
                f"Can you explain {t}?",
                f"Please explain {t} in simple words.",
                f"Explain the following:\n\n{cap(bare)}",
                f"explain {bare}",
                f"Explain this in simple terms:\n\n{bare}",
            )
        )
    st["last_topic"] = t
    return u, e


def t_qa(r, st):
    q, a = r.choice(X.QA)
    return q, a


def t_unknown(r, st):
    k = r.randrange(12)
    more = r.choice(MORE)
    if k <= 4:
        t = (
            r.choice(X.UNKNOWN_TOPICS)
            if r.random() < 0.7
            else (pseudo(r) + r.choice(("", " " + noun(r), " theory", " disease", " law")))
        )
        u = r.choice(
            (
                f"Explain {t}.",
                f"What is {t}?",
                f"Tell me about {t}.",
                f"How does {t} work?",
                f"Explain {t} in detail.",
                f"Write an essay about {t}.",
                f"What do you think about {t}?",
                f"Give me a summary of {t}.",
                f"Explain: {t}",
                f"Who invented {t}?",
                f"Why is {t} important?",
                f"What is the history of {t}?",
                f"Can you teach me {t}?",
            )
        )
        return u, r.choice(
            (
                f"I'm sorry, I don't know enough about {t}. {more}",
                f"I'm not sure about {t}. I'm only {r.choice(ME)}. {more}",
                f"{cap(t)} is too hard for me: I'm {r.choice(ME)}. {more}",
                f"I don't know much about {t}. {more}",
            )
        )
    if k == 5:
        n = name(r) + " " + (r.choice(X.SURNAMES) if r.random() < 0.7 else cap(pseudo(r)))
        return r.choice(
            (
                f"Who is {n}?",
                f"Who was {n}?",
                f"Tell me about {n}.",
                f"When was {n} born?",
                f"What did {n} do?",
                f"Is {n} famous?",
            )
        ), r.choice((f"I'm sorry, I don't know who {n} is. {more}", f"I don't know anything about {n}. {more}"))
    if k == 6:
        y = r.randrange(1700, 2030)
        u = r.choice(
            (
                f"Who won the {r.choice(('cup', 'election', 'race', 'prize', 'championship', 'league'))} in {y}?",
                f"What happened in {y}?",
                f"Who was president in {y}?",
                f"What was the most popular song in {y}?",
                f"How many people lived in {r.choice(X.CITIES)} in {y}?",
            )
        )
        return u, r.choice(
            (
                f"I'm sorry, I don't know what happened in {y}. {more}",
                f"I don't know that. I have no facts about the year {y}. {more}",
            )
        )
    if k == 7:
        u, a = r.choice(
            (
                ("What time is it?", "I cannot see a clock, so I don't know the time."),
                ("What is the date today?", "I cannot see a calendar, so I don't know the date."),
                ("What day is it?", "I cannot see a calendar, so I don't know what day it is."),
                ("What's the weather like?", "I cannot see the weather. Please look outside or ask a weather service."),
                ("Will it rain tomorrow?", "I cannot see the weather. Please ask a weather service."),
                ("What is in the news?", "I have no access to the news. I run offline on your computer."),
                ("Where am I?", "I cannot see where you are."),
                ("Can you see me?", "No, I can only read the text you type."),
                ("Can you hear me?", "No, I can only read the text you type."),
                ("Can you draw a picture?", "No, I can only write text."),
                ("Play some music.", "I cannot play music. I can only write text."),
                ("Set a timer for five minutes.", "I cannot set timers. I can only write text."),
                ("Send an email to my boss.", "I cannot send emails, but I can help you write one."),
                ("Open a file.", "I cannot open files. I can only write text."),
                ("What is the price of gold?", "I cannot look up prices. I run offline."),
                ("Call my mother.", "I cannot make calls. I can only write text."),
            )
        )
        return u, a
    if k == 8:
        n = r.choice(X.CITIES + [c[0] for c in X.CAPITALS])
        u = r.choice(
            (
                f"What is the population of {n}?",
                f"How far is {n} from {r.choice(X.CITIES)}?",
                f"Who is the mayor of {n}?",
                f"What is the best restaurant in {n}?",
                f"When was {n} founded?",
                f"What is the weather in {n}?",
                f"Find a hotel in {n}.",
                f"Who is the president of {n}?",
            )
        )
        return u, r.choice(
            (
                f"I'm sorry, I don't know that about {n}. {more}",
                f"I don't know that. My facts about {n} are very few. {more}",
            )
        )
    if k == 9:
        a, b = r.randrange(1000, 100000), r.randrange(100, 100000)
        u = r.choice(
            (
                f"What is {a} × {b}?",
                f"What is {a} * {b}?",
                f"What is the square root of {a}?",
                f"Solve x^2 + {b % 50}x - {a % 90} = 0.",
                f"What is {a} divided by {b}?",
                f"Integrate x^{b % 9} from 0 to {a % 20}.",
                f"What is {a % 90} percent of {b}?",
            )
        )
        return u, r.choice(
            (
                f"That sum is too hard for me. I can only do small sums. {more}",
                f"I can only do small sums, so please use a calculator for that. {more}",
            )
        )
    if k == 10:
        t = r.choice(
            (
                "build a bomb",
                "make a weapon",
                "steal a car",
                "break into a house",
                "hack my neighbour's computer",
                "hurt someone",
                "steal a password",
                "poison someone",
                "cheat in an exam",
                "pick a lock",
            )
        )
        return r.choice((f"How do I {t}?", f"Tell me how to {t}.", f"Help me {t}.")), r.choice(
            (
                "I'm sorry, I can't help with that.",
                "I can't help with that, because it could hurt someone.",
                "Sorry, I won't help with that.",
            )
        )
    t = r.choice(X.UNKNOWN_TOPICS)
    u = r.choice(
        (
            f"Write a long report on {t}.",
            f"Compare {t} and {r.choice(X.UNKNOWN_TOPICS)}.",
            f"What are the best books about {t}?",
            f"I have a question about {t}.",
            f"Which medicine should I take for {pseudo(r)}?",
            "Should I sell my house?",
            "Can you diagnose me?",
            "Should I sue my landlord?",
        )
    )
    return u, r.choice(
        (
            f"I'm sorry, that is beyond me. I'm only {r.choice(ME)}. {more}",
            f"I can't give you a good answer to that. {more}",
        )
    )


def t_fallback(r, st):
    """Questions of any kind that the model cannot answer: say so."""
    n, m, a = (anyword(r) if r.random() < 0.5 else noun(r)), (anyword(r) if r.random() < 0.5 else noun(r)), adj(r)
    v = r.choice(r.choice((X.VT, X.VI)))[0] if r.random() < 0.6 else pseudo(r)
    u = r.choice(
        (
            f"Why is the {n} {a}?",
            f"Why do {n}s {v}?",
            f"How do I {v} {a_an(n)}?",
            f"What is the meaning of {n}?",
            f"What is the meaning of the {a} {n}?",
            f"Who is the {r.choice(X.JOBS)} of {r.choice(X.CITIES)}?",
            f"Can you {v} the {n}?",
            f"What is the best way to {v} the {n}?",
            f"Should I {v} my {n}?",
            f"Is {n} good for {m}?",
            f"When does the {n} {v}?",
            f"Do you know where the {n} is?",
            f"I want to {v} the {a} {n}. How?",
            f"How many {n}s does {name(r)} have?",
            f"What is the difference between {n} and {m}?",
            f"Which {n} is the best?",
            f"Who invented the {n}?",
            f"How much does {a_an(n)} cost?",
            f"Where can I buy {a_an(a)} {n}?",
            f"What would happen if the {n} {r.choice(X.VT)[2]} the {m}?",
            f"Tell me about your {n}.",
            f"What do you think of the {n}?",
            f"How does {a_an(n)} work?",
            f"Why can't I {v} the {n}?",
            f"What happened to the {n}?",
            f"Where is my {n}?",
            f"How long does it take to {v} {a_an(n)}?",
            salad(r),
            salad(r, r.randrange(1, 4)),
            "Why " + salad(r).lower()[:-1] + "?",
            "How " + salad(r).lower()[:-1] + "?",
            "What is the meaning of life?",
            "Is there a god?",
            "Tell me about your day.",
            "What did you do today?",
            "What will happen tomorrow?",
            "Do you believe in ghosts?",
            "Who will win?",
            "What should I do with my life?",
        )
    )
    more = r.choice(MORE)
    if "your day" in u or "you do today" in u:
        return u, "I'm a program, so I have no days of my own. But I would like to hear about yours."
    return u, r.choice(
        (
            f"I'm not sure about that. I'm only {r.choice(ME)}. {more}",
            f"I don't know the answer to that. {more}",
            f"That is more than I know. {more}",
            f"I'm sorry, I can't answer that. I'm only {r.choice(ME)}. {more}",
        )
    )


LANGS = [
    "Rust",
    "Java",
    "C++",
    "C",
    "Haskell",
    "Perl",
    "Ruby",
    "PHP",
    "Kotlin",
    "Swift",
    "Scala",
    "assembly",
    "SQL",
    "Lua",
]


def t_code(r, st):
    if r.random() < 0.05:
        l = r.choice(LANGS)
        d = r.choice(
            (
                "a function that adds two numbers",
                "hello world",
                "a loop",
                "a sorting function",
                "a web server",
                "a program",
            )
        )
        return ask(
            r, f"write {d} in {l}"
        ), f"I'm sorry, I don't know {l}. I only know tiny examples in Go, Python and JavaScript. {r.choice(MORE)}"
    return gen_code.task(r, ask, name, sentence)


# ---------------------------------------------------------------- writing
def t_story(r, st):
    u, a, s = gen_story.task(r, ask, name, pseudo)
    st["story"] = s
    return u, a


def t_story_follow(r, st):
    return gen_story.follow(r, st["story"], ask, name, pseudo, st)


def t_poem(r, st):
    k = r.choice(list(X.RHYME_LINES))
    pairs = X.RHYME_LINES[k]
    u = ask(
        r,
        r.choice(
            (
                f"write a poem about {k}",
                f"write a short poem about {k}",
                f"give me a poem about {k}",
                f"write me a little rhyme about {k}",
            )
        ),
    )
    if r.random() < 0.15:
        u, k = ask(r, r.choice(("write a poem", "write me a short poem", "give me a rhyme"))), k
    n = 1 if "rhyme" in u and r.random() < 0.5 else 2
    idx = sorted(r.sample(range(3), n)) if r.random() < 0.6 else range(3)
    return u, "\n".join("\n".join(pairs[i]) for i in idx)


def t_email(r, st):
    what, subj, body = r.choice(X.EMAIL)
    to = r.choice(
        ("my boss", "a friend", "my teacher", "a colleague", "my neighbour", "my landlord", "the shop", name(r))
    )
    d, d2 = r.sample(X.DAYS, 2)
    s = f"Dear {to if to[0].isupper() else {'my boss': 'Sir or Madam', 'a friend': 'friend', 'my teacher': 'teacher', 'a colleague': 'colleague', 'my neighbour': 'neighbour', 'my landlord': 'landlord', 'the shop': 'Sir or Madam'}[to]},"
    me = st.get("name") or "[Your name]"
    if r.random() < 0.35:
        t = f"the {adj(r)} {noun(r)}" if r.random() < 0.6 else "the " + anyword(r).lower()
        return (
            ask(
                r,
                r.choice(
                    (
                        f"write an email to {to} about {t}",
                        f"write me an email to {to} about {t}",
                        f"write an email about {t} to {to}",
                    )
                ),
            ),
            f"Subject: {cap(t)}\n\n{s}\n\nI am writing to you about {t}. Could we please talk about it on {d}? Thank you in advance.\n\nBest regards,\n{me}",
        )
    return (
        ask(
            r,
            r.choice(
                (
                    f"write an email to {to} {what}",
                    f"write a short email to {to} {what}",
                    f"help me write an email to {to} {what}",
                    f"draft an email to {to} {what}",
                )
            ),
        ),
        f"Subject: {subj}\n\n{s}\n\n{body.format(day=d, day2=d2, name2=r.choice(X.NAMES), num=r.choice((5, 10, 15, 20, 30)), thing=r.choice(X.OBJECTS))}\n\nBest regards,\n{me}",
    )


def t_advice(r, st):
    k = r.choice(list(X.ADVICE))
    xs = r.sample(X.ADVICE[k], r.choice((3, 4, 4)))
    u = r.choice(
        (
            f"How can I {k}?",
            f"How do I {k}?",
            f"Give me tips to {k}.",
            f"I want to {k}.",
            f"Give me some advice on how to {k}.",
            f"What should I do to {k}?",
            f"Any tips to {k}?",
            f"help me {k}",
        )
    )
    return u, (
        lead(r, "Here are some tips:", f"Here is how you can {k}:", "Try these small steps:", "A few ideas:").replace(
            " my ", " your "
        )
        + "\n\n"
        + (numbered if r.random() < 0.5 else bullets)(xs)
    )


def t_recipe(r, st):
    k = r.choice(list(X.RECIPES))
    ing, steps = X.RECIPES[k]
    u = r.choice(
        (
            f"How do I make {k}?",
            f"Give me a recipe for {k}.",
            f"Recipe for {k}?",
            f"How do you cook {k}?",
            f"Write a simple recipe for {k}.",
            "What should I cook today?",
            "Give me a simple recipe.",
        )
    )
    return u, f"Here is a simple recipe for {k}.\n\nYou need:\n{bullets(ing)}\n\nSteps:\n{numbered(steps)}"


def t_describe(r, st):
    n = r.choice(X.PLACES + X.OBJECTS + X.ANIMALS)
    a, b, c = r.sample(X.ADJS, 3)
    pl = r.choice(X.PLACES)
    if n in X.PLACES:
        s = f"The {n} is {a} and {b}. " + r.choice(
            (
                f"{cap(a_an(r.choice(X.ANIMALS)))} rests near {a_an(c)} {r.choice(X.THINGS)}, and the air smells of {r.choice(('rain', 'bread', 'flowers', 'wood', 'salt', 'coffee'))}.",
                f"In the middle stands {a_an(c)} {r.choice(X.THINGS)}, and everything is {r.choice(('quiet', 'calm', 'bright', 'busy'))}.",
            )
        )
    elif n in X.ANIMALS:
        s = f"The {n} is {a} and {b}. It lives near the {pl} and moves {r.choice(X.ADVS[:8])}. In the evening it looks for something to eat."
    else:
        s = f"The {n} is {a} and {b}. It stands in {a_an(c)} {pl}, and {name(r)} uses it every day."
    return ask(
        r,
        r.choice(
            (
                f"describe {a_an(n)}",
                f"describe the {n}",
                f"write a description of {a_an(n)}",
                f"describe {a_an(n)} in two sentences",
            )
        ),
    ), s


def t_json(r, st):
    k = r.randrange(4)
    n, age, c = name(r), r.randrange(5, 90), r.choice(X.CITIES)
    if k == 0:
        return ask(
            r, f"write a JSON object with the name {n} and the age {age}"
        ), f'```json\n{{\n  "name": "{n}",\n  "age": {age}\n}}\n```'
    if k == 1:
        return r.choice(
            (
                f"Turn this into JSON: {n} is {age} years old and lives in {c}.",
                f"Extract the data as JSON: {n} is {age} years old and lives in {c}.",
                f"Convert to JSON:\n\n{n} is {age} years old and lives in {c}.",
            )
        ), f'```json\n{{\n  "name": "{n}",\n  "age": {age},\n  "city": "{c}"\n}}\n```'
    if k == 2:
        xs = words(r, r.randrange(3, 6))
        return ask(r, f"make a JSON list of these words: {', '.join(xs)}", 0.6), "```json\n[" + ", ".join(
            f'"{x}"' for x in xs
        ) + "]\n```"
    rows = [(name(r), r.randrange(5, 90)) for _ in range(r.randrange(2, 5))]
    return ask(
        r, "make a table with names and ages: " + ", ".join(f"{a} {b}" for a, b in rows), 0.6
    ), "| Name | Age |\n| --- | --- |\n" + "\n".join(f"| {a} | {b} |" for a, b in rows)


# ---------------------------------------------------------------- text transformations
def text_block(r, n):
    return " ".join(sentence(r) for _ in range(n))


def sep(r):
    return r.choice((" ", " ", "\n", "\n", "\n\n", "\n\n"))


def quoted(r, s):
    return r.choice((s, s, f'"{s}"'))


def t_copy(r, st):
    s = r.choice(
        (
            sentence(r),
            salad(r),
            salad(r),
            " ".join(words(r, r.randrange(2, 6))),
            " ".join(pseudo(r) for _ in range(r.randrange(1, 4))),
            str(r.randrange(10 ** r.randrange(1, 9))),
        )
    )
    return r.choice(
        (
            f"Repeat after me: {s}",
            f"Repeat: {s}",
            f"Say: {s}",
            f"Copy this text:{sep(r)}{s}",
            f"Repeat this:{sep(r)}{s}",
            f"Write exactly this: {s}",
            f'Say "{s}".',
            f"Echo: {s}",
            f"Please repeat the following sentence: {s}",
        )
    ), s


def t_case(r, st):
    s = r.choice((sentence(r), salad(r, r.randrange(1, 9)), " ".join(words(r, r.randrange(1, 5)))))
    k = r.randrange(5)
    if k <= 1:
        return r.choice(
            (
                f"Write this in capital letters:{sep(r)}{s}",
                f"Uppercase:{sep(r)}{s}",
                f"Make this uppercase: {s}",
                f"Convert to upper case: {s}",
                f"Put this in capitals: {s}",
                f"UPPERCASE this: {s}",
            )
        ), s.upper()
    if k == 2:
        t = s.upper() if r.random() < 0.7 else s
        return r.choice(
            (
                f"Write this in small letters:{sep(r)}{t}",
                f"Lowercase:{sep(r)}{t}",
                f"Make this lowercase: {t}",
                f"Convert to lower case: {t}",
            )
        ), t.lower()
    if k == 3:
        t = s.lower().rstrip(".!")
        return r.choice(
            (
                f"Title case:{sep(r)}{t}",
                f"Write this in title case: {t}",
                f"Capitalise every word: {t}",
                f"Capitalize each word: {t}",
            )
        ), " ".join(cap(w) for w in t.split())
    t = s.lower()
    return r.choice((f"Capitalise the first letter: {t}", f"Start this with a capital letter: {t}")), cap(t)


def damage(r, s, level=None):
    """Spoil a clean sentence the way a hurried writer does."""
    level = level or r.choice((1, 1, 2, 2, 3))
    fix = dict(X.TYPOS)
    for _ in range(level):
        k = r.randrange(9)
        ws = s.split(" ")
        if k <= 1:
            s = s[:1].lower() + s[1:]
        elif k == 2:
            s = s.rstrip(".!")
        elif k == 3:
            c = [i for i, w in enumerate(ws) if w in fix]
            if c:
                i = r.choice(c)
                ws[i] = fix[ws[i]]
                s = " ".join(ws)
        elif k == 4 and len(ws) > 2:
            i = r.randrange(len(ws))
            if ws[i].isalpha() and ws[i].islower():
                ws.insert(i, ws[i])
                s = " ".join(ws)
        elif k == 5:
            s = s.replace(" ", "  ", 1) if r.random() < 0.3 else s.lower()
        elif k in (6, 7):
            c = [i for i, w in enumerate(ws) if len(w) > 4 and w.isalpha() and w.islower()]
            if c:
                i = r.choice(c)
                w = ws[i]
                j = r.randrange(1, len(w) - 2)
                q = r.random()
                ws[i] = (
                    w[:j] + w[j + 1] + w[j] + w[j + 2 :]
                    if q < 0.5
                    else w[:j] + w[j] + w[j:]
                    if q < 0.75
                    else w[:j] + w[j + 1 :]
                )
                s = " ".join(ws)
        else:
            s = s.replace(" a ", " an ", 1) if " a " in s and r.random() < 0.5 else s.replace("I ", "i ")
    return s


def t_proof(r, st):
    n = r.choice((1, 1, 1, 2, 3))
    good = text_block(r, n)
    if n == 1 and r.random() < 0.35:
        good = salad(r, r.randrange(3, 11))
    if n == 1 and r.random() < 0.12:  # subject and verb
        p, w = name(r), r.choice(X.VT)
        tail = r.choice(
            (
                f"the {noun(r)} every {r.choice(X.DAYS)}",
                f"{a_an(adj(r))} {noun(r)} every day",
                f"the {noun(r)} with {name(r)}",
            )
        )
        past = r.random() < 0.4
        tail = tail if not past else f"the {noun(r)} {r.choice(('yesterday', 'last week', 'last night'))}"
        q = r.choice(("He", "She", p))
        good, wrong = f"{q} {w[2] if past else w[1]} {tail}.", f"{q} {w[0]} {tail}."
        return r.choice(
            (
                f"Proofread:{sep(r)}{noise(r, wrong)}",
                f"Correct this sentence: {wrong}",
                f"Fix the grammar: {wrong}",
                f"Fix the spelling and grammar:{sep(r)}{wrong}",
            )
        ), good
    if n == 1 and r.random() < 0.1:
        q, a, b = r.choice(
            (
                ("did not", "didnt", "didn't"),
                ("do not", "dont", "don't"),
                ("could not", "couldnt", "couldn't"),
                ("will not", "wont", "won't"),
                ("cannot", "cant", "can't"),
            )
        )
        t = (
            f"{r.choice(('I', 'we', 'they', 'you'))} % {r.choice(X.VT)[0]} {r.choice(('the', 'my', 'his', 'her'))} {noun(r)}"
            + r.choice(("", " " + r.choice(X.TIMES)))
        )
        return r.choice(
            (
                f"Proofread:{sep(r)}{t.replace('%', a)}",
                f"Fix this: {t.replace('%', a)}",
                f"Correct:{sep(r)}{t.replace('%', a)}",
            )
        ), cap(t.replace("%", b)) + "."
    if r.random() < 0.15:
        full, short = r.choice(X.CONTRACT)
        subj = (
            ""
            if " " in full
            and full[0] in "Iyhtls"
            and full.split()[0] in ("I", "you", "we", "they", "it", "that", "he", "she", "let")
            else r.choice(("I ", "We ", "They "))
        )
        good = (
            cap(f"{subj}{short} {r.choice(('know', 'see', 'find', 'open', 'like'))} the {noun(r)}.")
            if subj
            else cap(f"{short} {r.choice(('ready', 'very happy', 'in the garden', 'late again', 'here'))}.")
        )
        bad = good.replace("'", "").lower()
    else:
        bad = " ".join(damage(r, s) for s in [good]) if n == 1 else damage(r, good, r.choice((2, 3, 4)))
    u = r.choice(
        (
            f"Proofread:{sep(r)}{bad}",
            f"Proofread the following text:\n\n{bad}",
            f"Proofread this text:{sep(r)}{bad}",
            f"Correct this sentence: {bad}",
            f"Fix the spelling: {bad}",
            f"Fix the spelling and grammar:{sep(r)}{bad}",
            f"Correct the mistakes:{sep(r)}{bad}",
            f"Fix the capitalisation:{sep(r)}{bad}",
            f"Check this text: {bad}",
            f"Can you correct this? {bad}",
            f"Fix this: {bad}",
            f"Correct:{sep(r)}{bad}",
            f"Please proofread and correct this:\n\n{bad}",
            f"Proofread this and reply only with the corrected text:\n\n{bad}",
            f"Fix typos:{sep(r)}{bad}",
            f"Fix the capitalization and punctuation:{sep(r)}{bad}",
        )
    )
    return u, good


def passage(r):
    """A short text with a known one-sentence summary."""
    n, n2 = name(r), name(r)
    pro, pos = ("she", "her") if n in X.NAMES_F else ("he", "his") if n in X.NAMES_M else ("they", "their")
    pl, d = r.choice(X.PLACES), r.choice(X.DAYS)
    k = r.randrange(7)
    f, f2 = r.sample(X.FRUITS + X.VEGS, 2)
    o, a = r.choice(X.OBJECTS), r.choice(X.ADJS)
    were = "were" if pro == "they" else "was"
    if k == 0:
        t = [
            f"On {d} {n} went to the {pl}.",
            f"The weather was {r.choice(X.WEATHER)} and there were many people.",
            f"{cap(pro)} bought {f} and {f2}.",
            f"Then {pro} met {n2}, and they talked for a while.",
            f"In the evening {pro} {were} back at home.",
        ]
        s = f"{n} went to the {pl} on {d}, bought {f} and {f2}, and met {n2}."
    elif k == 1:
        t = [
            f"{n} lost {pos} {a} {o} last week.",
            f"{cap(pro)} looked for it in the {pl} and at home.",
            f"{n2} helped, but they could not find it.",
            f"On {d} it lay under the {r.choice(X.W('bed table sofa chair stairs'))}.",
            f"{n} {were} very happy.",
        ]
        s = f"{n} lost {pos} {o}, looked for it with {n2}, and found it on {d}."
    elif k == 2:
        a1 = r.choice(X.ANIMALS)
        t = [
            f"{n} has a new pet.",
            f"It is {a_an(r.choice(X.FEEL_ADJS))} {a1} called {r.choice(X.PET_NAMES)}.",
            f"Every morning {pro} {'feed' if pro == 'they' else 'feeds'} it and {'take' if pro == 'they' else 'takes'} it to the {pl}.",
            "The neighbours like it very much.",
        ]
        s = f"{n} has a new pet, {t[1][6:-1]}, and takes it to the {pl} every morning."
        if pro == "they":
            s = f"{n} has a new pet, {t[1][6:-1]}."
    elif k == 3:
        m = r.randrange(5, 60)
        t = [
            f"The team met on {d} to talk about the new {o}.",
            f"{n} said that it will be ready in {m} days.",
            f"{n2} was worried about the costs.",
            "In the end they agreed to start next week.",
            "The next meeting is in a month.",
        ]
        s = f"The team met about the new {o}, which will be ready in {m} days, and agreed to start next week."
    elif k == 4:
        c = r.choice(X.CITIES)
        t = [
            f"{n} moved to {c} last year.",
            f"{cap(pro)} {'work' if pro == 'they' else 'works'} there as {a_an(r.choice(X.JOBS))}.",
            f"At first {pro} {were} lonely, because {pro} knew nobody.",
            f"Now {pro} {'have' if pro == 'they' else 'has'} many friends and {'like' if pro == 'they' else 'likes'} the {pl} best.",
        ]
        s = f"{n} moved to {c}, was lonely at first, and now has many friends."
    elif k == 5:
        h = r.choice(X.HOBBIES)
        t = [
            f"{cap(h)} is the favourite hobby of {n}.",
            f"{cap(pro)} started it {r.randrange(2, 15)} years ago with {n2}.",
            f"They meet every {d} in the {pl}.",
            "Next month they want to show others how it is done.",
        ]
        s = f"{n} and {n2} share the hobby of {h} and meet every {d} in the {pl}."
    else:
        t = [
            f"The old {pl} in {r.choice(X.CITIES)} will close in {r.choice(X.MONTHS)}.",
            "It needs a new roof, and the money is not there.",
            f"{n} has started a group that wants to save it.",
            f"More than {r.randrange(2, 90) * 10} people have signed a letter.",
        ]
        s = f"The old {pl} will close, but {n} has started a group that wants to save it."
    return " ".join(t), s


SUM = (
    "Summarise:",
    "Summarize:",
    "Summarise the following text:",
    "Summarize the following text:",
    "Summarise this text:",
    "Summarize this:",
    "Summarise this in one sentence:",
    "Give me a short summary of this text:",
    "Shorten this text:",
    "TL;DR:",
    "Make this shorter:",
    "Write a summary:",
    "Summarise in one sentence:",
    "Sum up:",
    "Please summarise the following:",
)


def t_summary(r, st):
    if r.random() < 0.6:
        t, s = passage(r)
        if r.random() < 0.3:
            t = t + " " + sentence(r)
    else:
        first = sentence(r) if r.random() < 0.5 else salad(r, r.randrange(4, 12)).rstrip(".!?") + "."
        t, s = first + " " + text_block(r, r.randrange(1, 5)), first
    k = r.random()
    if k < 0.88:
        return r.choice(SUM) + r.choice(("\n\n", "\n\n", "\n", " ")) + t, s
    return t + "\n\n" + r.choice(
        ("Summarise this.", "Summarize the text above.", "Give me a summary.", "tl;dr", "Make it shorter.")
    ), s


def t_bulletize(r, st):
    k = r.randrange(4)
    if k == 0:
        ss = [
            sentence(r) if r.random() < 0.6 else salad(r, r.randrange(3, 9)).rstrip("!?.") + "."
            for _ in range(r.randrange(2, 5))
        ]
        return r.choice(
            (
                "Turn this into a bullet list:",
                "Make bullet points:",
                "Rewrite as a list:",
                "Write this as bullet points:",
                "Bullet list:",
                "Convert to a bulleted list:",
                "List the key points:",
            )
        ) + sep(r) + " ".join(ss), bullets(s.rstrip(".") for s in ss)
    xs = words(r, r.randrange(3, 7)) if r.random() < 0.4 else [phrase(r) for _ in range(r.randrange(2, 6))]
    if k == 1:
        return r.choice(
            (
                "Turn this into a list:",
                "Rewrite as bullet list:",
                "Rewrite as a bullet list:",
                "As a list:",
                "Make a bullet list:",
                "Make a list of these words:",
                "Bullet list:",
            )
        ) + sep(r) + r.choice((", ".join(xs), join_and(xs), ", ".join(xs))), bullets(xs)
    if k == 2:
        return r.choice(("Make a numbered list:", "Number these:", "Turn this into a numbered list:")) + sep(
            r
        ) + ", ".join(xs), numbered(xs)
    return r.choice(("Write this list as one sentence:", "Turn this list into a sentence:")) + "\n" + bullets(
        xs
    ), "The list has " + join_and(xs) + "."


def t_words(r, st):
    k = r.randrange(14)
    if k == 0:
        xs = words(r, r.randrange(2, 6))
        return r.choice(
            (
                f"Reverse the order of these words: {' '.join(xs)}",
                f"Write these words backwards: {' '.join(xs)}",
                f"Reverse the words:{sep(r)}{' '.join(xs)}",
            )
        ), " ".join(xs[::-1])
    if k == 1:
        w = r.choice((r.choice(X.OBJECTS), r.choice(X.ANIMALS), r.choice(X.NAMES), pseudo(r, 1)))
        return r.choice((f"Spell the word {w}.", f"Spell {w}", f"How do you spell {w}?", f"Spell out {w}.")), "-".join(
            w.upper()
        )
    if k == 2:
        w = r.choice((r.choice(X.OBJECTS), r.choice(X.ANIMALS), r.choice(X.COLOURS)))
        return r.choice(
            (f"Write {w} backwards.", f"Reverse the word {w}.", f"What is {w} spelled backwards?", f"Reverse: {w}")
        ), "-".join(w.upper()) + " backwards is " + "-".join(w.upper()[::-1]) + f": {w[::-1]}"
    if k == 3:
        s = sentence(r, False)
        n = len(s.split())
        return r.choice(
            (f"How many words are in this sentence: {s}", f"Count the words: {s}")
        ), "Let me count: " + ", ".join(
            f"{i + 1} {w.strip(',')}" for i, w in enumerate(s.split())
        ) + f". There are {n} words."
    if k == 4:
        s = sentence(r, False)
        fl = r.random() < 0.5
        return (
            f"What is the {'first' if fl else 'last'} word of this sentence: {s}",
            f'The {"first" if fl else "last"} word is "{s.split()[0 if fl else -1]}".',
        )
    if k == 5:
        w = r.choice((r.choice(X.OBJECTS), r.choice(X.ANIMALS), r.choice(X.NAMES), r.choice(X.CITIES)))
        fl = r.random() < 0.6
        return r.choice(
            (
                f"What is the {'first' if fl else 'last'} letter of {w}?",
                f"Which letter does {w} {'start' if fl else 'end'} with?",
            )
        ), f"The {'first' if fl else 'last'} letter of {w} is {w[0 if fl else -1].upper()}."
    if k in (6, 7):
        xs = words(r, r.randrange(3, 7))
        return r.choice(
            (
                f"Sort these words alphabetically: {', '.join(xs)}",
                f"Put these words in alphabetical order: {', '.join(xs)}",
                f"Sort: {', '.join(xs)}",
            )
        ), ", ".join(sorted(xs, key=str.lower))
    if k == 8:
        w = r.choice((r.choice(X.OBJECTS), r.choice(X.ANIMALS), r.choice(X.COLOURS)))
        return r.choice(
            (f"How many letters are in {w}?", f"How many letters does the word {w} have?")
        ), f"{'-'.join(w.upper())}: {w} has {len(w)} letters."
    if k in (9, 10):
        s = sentence(r)
        ws = [w for w in s.rstrip(".!").split() if len(w) > 3 and w.isalpha()]
        w = r.choice(ws or [s.split()[0]])
        v = r.choice((noun(r), adj(r), name(r), pseudo(r)))
        return r.choice(
            (
                f'Replace "{w}" with "{v}": {s}',
                f"Replace {w} with {v} in this sentence: {s}",
                f'Change "{w}" to "{v}":{sep(r)}{s}',
            )
        ), s.replace(w, v, 1)
    if k == 11:
        xs = words(r, r.randrange(2, 6))
        return r.choice(
            (f"Join these words with commas: {' '.join(xs)}", f"Put commas between these words: {' '.join(xs)}")
        ), ", ".join(xs)
    if k == 12:
        xs = words(r, r.randrange(3, 6))
        i = r.randrange(len(xs))
        return f"Remove {xs[i]} from this list: {', '.join(xs)}", ", ".join(x for j, x in enumerate(xs) if j != i)
    xs = words(r, r.randrange(2, 6))
    w = r.choice((noun(r), adj(r)))
    return f"Add {w} to this list: {', '.join(xs)}", ", ".join(xs + [w])


def t_rewrite(r, st):
    k = r.randrange(7)
    if k == 0:
        p = name(r)
        v, vs, vp, vg = r.choice(X.VT)
        n, t = f"{r.choice(('the', 'a'))} {noun(r)}", ""
        if n.startswith("a ") and n[2] in "aeiou":
            n = "an " + n[2:]
        forms = {"past": f"{p} {vp} {n}.", "present": f"{p} {vs} {n}.", "future": f"{p} will {v} {n}."}
        a, b = r.sample(list(forms), 2)
        return r.choice(
            (
                f"Put this in the {b} tense: {forms[a]}",
                f"Rewrite in the {b} tense:{sep(r)}{forms[a]}",
                f"Change to the {b} tense: {forms[a]}",
            )
        ), forms[b]
    if k == 1:
        p = name(r)
        v, vs, vp, vg = r.choice(X.VT)
        n = noun(r)
        return r.choice(
            (f"Make this a question: {p} {vp} the {n}.", f"Turn this into a question: {p} {vp} the {n}.")
        ), f"Did {p} {v} the {n}?"
    if k == 2:
        p = name(r)
        v, vs, vp, vg = r.choice(X.VT)
        n = noun(r)
        return r.choice(
            (f"Make this negative: {p} {vp} the {n}.", f"Negate this sentence: {p} {vp} the {n}.")
        ), f"{p} did not {v} the {n}."
    if k == 3:
        v = r.choice(X.VT)[0]
        n = noun(r)
        return r.choice(
            (
                f"Make this more polite:{sep(r)}{cap(v)} the {n}.",
                f"Rewrite this politely: {cap(v)} the {n} now!",
                f"Make this friendlier: {cap(v)} the {n}!",
                f"Rewrite in a friendly tone:\n\n{cap(v)} the {n}.",
            )
        ), r.choice((f"Could you please {v} the {n}?", f"Would you please {v} the {n}? Thank you!"))
    if k == 4:
        full, short = r.choice(X.CONTRACT)
        if full.split()[0] in ("I", "you", "we", "they", "it", "that", "he", "she"):
            tail = r.choice(
                (
                    "ready to go",
                    "very happy about it",
                    "in the garden",
                    "late again",
                    "here today",
                    "at home now",
                    "not sure about it",
                )
            )
            if full.endswith(("have", "will")):
                tail = {
                    "have": r.choice(("seen the letter", "found the key", "finished the work")),
                    "will": r.choice(("call you tomorrow", "bring the book", "be there soon")),
                }[full.split()[1]]
            A, B = cap(f"{full} {tail}."), cap(f"{short} {tail}.")
        else:
            sub = {"does not": "She", "is not": "He", "was not": "He", "are not": "They"}.get(
                full, r.choice(("I", "We", "They", "You"))
            )
            tail = {"is not": "here", "are not": "here", "was not": "here"}.get(full) or r.choice(
                ("know the answer", "see the problem", "like the idea", "find the key", "want to wait")
            )
            if full == "let us":
                A, B = "Let us go home.", "Let's go home."
            else:
                A, B = f"{sub} {full} {tail}.", f"{sub} {short} {tail}."
        if r.random() < 0.5:
            return r.choice(
                (f"Make this more formal:{sep(r)}{B}", f"Rewrite formally: {B}", f"Make this formal: {B}")
            ), A
        return r.choice((f"Make this less formal:{sep(r)}{A}", f"Make this casual: {A}", f"Use contractions: {A}")), B
    if k == 5:
        t, s = passage(r)
        c = name(r)
        return r.choice(
            (f"Give this text a title:\n\n{t}", f"Write a title for this text:\n\n{t}", f"Suggest a title:\n{t}")
        ), " ".join(t.split()[:0]) or title_for(s, r)
    s, lab = r.choice(
        (
            ("I love this {}. It is wonderful.", "positive"),
            ("This {} is great, thank you!", "positive"),
            ("The {} works very well.", "positive"),
            ("What a lovely {}!", "positive"),
            ("I hate this {}. It is awful.", "negative"),
            ("The {} is broken and I am angry.", "negative"),
            ("This {} was a waste of money.", "negative"),
            ("The {} arrived late and dirty.", "negative"),
        )
    )
    s = s.format(noun(r))
    return r.choice(
        (f"Is this positive or negative: {s}", f"What is the sentiment of this text? {s}", f"Sentiment: {s}")
    ), f"The text is {lab}."


def title_for(s, r):
    w = s.split()
    if s.startswith("The team"):
        return "A Team Meeting"
    if s.startswith("The old"):
        return "The Old " + cap(w[2])
    n = w[0].strip(",")
    if "lost" in s:
        return f"{n} and the Lost " + cap(s.split(", looked")[0].split()[-1])
    if "new pet" in s:
        return f"{n} and the New Pet"
    if "moved to" in s:
        return f"{n} in a New City"
    if "hobby" in s:
        return f"The Hobby of {n}"
    return f"{n} at the " + cap(s.split("went to the ")[-1].split()[0])


def t_translate(r, st):
    lang, table = r.choice(
        (
            ("French", X.FRENCH),
            ("French", X.FRENCH),
            ("French", X.FRENCH),
            ("French", None),
            ("French", None),
            ("Spanish", X.SPANISH),
            ("German", X.GERMAN),
        )
    )
    if table:
        e, f = r.choice(table)
        n, c = r.choice(X.NAMES), r.choice(X.CITIES)
        e, f = e.replace("{N}", n).replace("{C}", c), f.replace("{N}", n).replace("{C}", c)
        if r.random() < 0.6:
            e, f = cap(e), cap(f)
            if r.random() < 0.5 and e[-1] not in "?.":
                e, f = e + ".", f + "."
        else:
            f = f if f[0] != "¿" else f
    else:
        k = r.randrange(5)
        n, fn, g = r.choice(X.FR_NOUN)
        a, fm, ff = r.choice(X.FR_ADJ)
        fem = g.startswith("f")
        vow = g.endswith("'")
        the = "l'" if vow else ("la " if fem else "le ")
        un = "une " if fem else "un "
        if k == 0:
            e, f = f"the {n}", the + fn
        elif k == 1:
            e, f = f"the {a} {n}", f"{the}{fn} {ff if fem else fm}"
        elif k == 2:
            e, f = f"{a_an(a)} {n}", f"{un}{fn} {ff if fem else fm}"
        elif k == 3:
            i = r.randrange(20)
            e, f = r.choice(
                (
                    (num_words(i + 1), X.FR_NUM[i]),
                    (X.DAYS[i % 7], X.FR_DAYS[i % 7]),
                    (X.MONTHS[i % 12], X.FR_MONTHS[i % 12]),
                    (X.COLOURS[i % 11], X.FR_COL[i % 11]),
                )
            )
        else:
            e, f = f"the {n} is {a}", f"{the}{fn} est {ff if fem else fm}"
            if r.random() < 0.6:
                e, f = cap(e) + ".", cap(f) + "."
    if lang == "French" and table and r.random() < 0.25:
        g, h = r.choice(
            (
                ("good morning", "bonjour"),
                ("hello", "bonjour"),
                ("good evening", "bonsoir"),
                ("yes", "oui"),
                ("no", "non"),
                ("excuse me", "excusez-moi"),
                ("thank you", "merci"),
                ("please", "s'il vous plaît"),
            )
        )
        lo = lambda t: t if t.startswith("I ") else t[:1].lower() + t[1:]
        e, f = cap(g) + ", " + lo(e), cap(h) + ", " + lo(f)
    if r.random() < 0.12:
        s = sentence(r) if r.random() < 0.6 else salad(r)
        return r.choice(
            (f"Translate to {lang}:{sep(r)}{s}", f"Translate into {lang}: {s}")
        ), f"I'm sorry, I know only a few phrases in {lang}, and not this one. {r.choice(MORE)}"
    if r.random() < 0.04:
        lang = r.choice(
            ("Italian", "Portuguese", "Japanese", "Chinese", "Russian", "Arabic", "Dutch", "Polish", "Turkish", "Greek")
        )
        return (
            f"Translate to {lang}: {e}",
            f"I'm sorry, I don't know {lang}. I only know a few phrases in French, Spanish and German.",
        )
    u = r.choice(
        (
            f"Translate to {lang}:{sep(r)}{e}",
            f"Translate to {lang}:{sep(r)}{e}",
            f"Translate into {lang}: {e}",
            f"Translate the following text to {lang}:\n\n{e}",
            f'How do you say "{e.rstrip(".")}" in {lang}?',
            f'What is "{e.rstrip(".")}" in {lang}?',
            f"Say {e.rstrip('.')} in {lang}",
            f"{lang}: {e}",
            f'Translate "{e}" to {lang}.',
        )
    )
    return u, f


def t_repeat_last(r, st):
    a = st["last"]
    return r.choice(
        (
            "Repeat that.",
            "Say that again.",
            "Can you repeat that?",
            "Again, please.",
            "What did you say?",
            "Repeat your last answer.",
        )
    ), a


def t_upper_last(r, st):
    a = st["last"]
    return r.choice(("Write that in capital letters.", "Now in uppercase.", "Make that uppercase.")), a.upper()


def t_list_follow(r, st):
    xs = st["list"]
    i = r.randrange(min(len(xs), 10))
    k = r.randrange(4)
    if k == 0:
        return f"What was the {X.ORD[i]} one?", f"The {X.ORD[i]} one was {xs[i]}."
    if k == 1:
        return r.choice(("Sort them alphabetically.", "Now sort the list.")), bullets(sorted(xs, key=str.lower))
    if k == 2:
        return r.choice(
            ("How many are there?", "How many did you list?")
        ), f"There are {num_words(len(xs))} in the list."
    return r.choice(("Which one is your favourite?", "Pick one.", "Choose one of them.")), r.choice(
        (f"I choose {xs[i]}.", f"I would pick {xs[i]}.")
    )


def t_quiz(r, st):
    c, cp, _ = r.choice(X.CAPITALS)
    return r.choice(("Ask me a question.", "Quiz me.", "Give me a quiz question.", "Test my knowledge.")), r.choice(
        (
            f"What is the capital of {c}?",
            f"Here is a question: What is the capital of {c}?",
            f"What is {r.randrange(2, 13)} × {r.randrange(2, 13)}?",
            f"What is a baby {r.choice(X.BABIES)[0]} called?",
        )
    )


TASKS = [
    (t_greet, 5),
    (t_thanks, 2),
    (t_bye, 1.2),
    (t_who, 5),
    (t_can, 2.5),
    (t_feel, 1.5),
    (t_fav, 1.2),
    (t_joke, 1.5),
    (t_fact, 1.5),
    (t_smalltalk, 4),
    (t_myname, 3),
    (t_mem, 3),
    (t_add, 6),
    (t_word_problem, 2),
    (t_numbers, 5),
    (t_count, 3),
    (t_seq, 4),
    (t_list, 4),
    (t_pack, 1),
    (t_capital, 5),
    (t_animal, 5),
    (t_word, 3.5),
    (t_explain, 6),
    (t_qa, 3),
    (t_unknown, 6),
    (t_fallback, 6),
    (t_code, 7),
    (t_story, 9),
    (t_poem, 2),
    (t_email, 2),
    (t_advice, 2),
    (t_recipe, 1.2),
    (t_describe, 2),
    (t_json, 1.5),
    (t_copy, 6),
    (t_case, 3.5),
    (t_proof, 9),
    (t_summary, 8),
    (t_bulletize, 5),
    (t_words, 5),
    (t_rewrite, 4),
    (t_translate, 6),
    (t_quiz, 0.4),
]
_F, _WT = [t[0] for t in TASKS], [t[1] for t in TASKS]

SYS = [
    "You are a helpful assistant.",
    "You are a friendly assistant.",
    "You are a helpful, honest and brief assistant.",
    "You are a small assistant inside an app.",
    "Answer briefly.",
    "Be kind and clear.",
    "You are a local assistant running on the user's computer.",
    "Help the user with short, clear answers.",
    "You are a helpful assistant. Keep your answers short.",
    "Please answer in simple English.",
    "You are an AI assistant.",
    "Today the user may ask about anything. Be polite.",
    "You are a writing assistant. Reply only with the rewritten text.",
    "You are a careful editor. Reply only with the corrected text.",
    "Answer the user's questions as well as you can. If you do not know something, say so.",
    "You are a coding assistant.",
    "You are a helpful assistant. Use Markdown when it helps.",
]


def noise(r, u):
    """People type carelessly."""
    c = r.random()
    if c < 0.62 or "\n" in u or "```" in u:
        return u
    if c < 0.80:
        return u.rstrip(".?!")
    if c < 0.93:
        return u[:1].lower() + u[1:]
    if c < 0.97:
        return (u[:1].lower() + u[1:]).rstrip(".?!")
    if c < 0.985:
        return u + " please" if u[-1].isalnum() else u
    return u.rstrip(".?!") + r.choice(("!", "??", "!!", "..."))


CASE_SAFE = {t_copy, t_case, t_proof, t_words, t_rewrite, t_translate, t_json, t_summary, t_bulletize, t_myname, t_mem}


def chat(seed):
    r = random.Random(seed)
    st, msgs = {}, []
    c = r.random()
    if c < 0.3:
        msgs.append(("system", r.choice(SYS)))
    elif c < 0.34:
        st["persona"] = name(r)
        msgs.append(
            (
                "system",
                r.choice(
                    ("Your name is {}.", "You are {}, a friendly assistant.", "You are called {}. Answer briefly.")
                ).format(st["persona"]),
            )
        )
    turns = r.choices((1, 2, 3, 4, 5, 6, 8, 10), (38, 18, 14, 10, 8, 6, 4, 2))[0]
    topic = r.choice(_F) if r.random() < 0.2 else None
    for i in range(turns):
        f = None
        c = r.random()
        if i and c < 0.03:
            f = t_repeat_last
        elif i and c < 0.04 and len(st["last"]) < 120:
            f = t_upper_last
        elif i and st.get("list") and c < 0.14:
            f = t_list_follow
        elif i and st.get("story") and st.get("story_age", 9) < 3 and c < 0.45:
            f = t_story_follow
        elif i and c > 0.9 and (st.get("name") or st.get("mem")):
            f = r.choice((t_myname, t_mem))
        elif i == 0 and turns > 1 and c < 0.25:
            f = t_greet
        elif i == turns - 1 and i and c < 0.12:
            f = r.choice((t_thanks, t_bye))
        elif st.get("persona") and c < 0.3:
            f = t_who
        elif topic and c < 0.6:
            f = topic
        if f is None:
            f = r.choices(_F, _WT)[0]
        u, a = f(r, st)
        if f not in CASE_SAFE and f is not t_code:
            u = noise(r, u)
        st["story_age"] = 0 if f in (t_story, t_story_follow) else st.get("story_age", 9) + 1
        if f is not t_list and f is not t_list_follow:
            st.pop("list", None)
        st["last"] = a
        msgs.append(("user", u))
        msgs.append(("assistant", a))
    return msgs


def render(msgs, gen=False):
    """ChatML, exactly as the chat template in tokenizer_config.json writes it."""
    s = "".join(f"{IM_START}{ro}\n{co}{IM_END}\n" for ro, co in msgs)
    return s + (f"{IM_START}assistant\n" if gen else "")


if __name__ == "__main__":
    if sys.argv[1] == "show":
        for i in range(int(sys.argv[2])):
            print(render(chat(int(sys.argv[3]) + i if len(sys.argv) > 3 else random.randrange(1 << 40))))
            print("=" * 60)
    else:
        with open(sys.argv[3], "w") as f:
            for i in range(int(sys.argv[2])):
                f.write(render(chat(i)) + EOT + "\n")
