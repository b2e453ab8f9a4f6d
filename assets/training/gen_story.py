"""Short stories with characters, places and plots, and questions about them."""

import lexicon as X


def cap(s):
    return s[:1].upper() + s[1:]


def a_an(w):
    return ("an " if w[0].lower() in "aeiou" else "a ") + w


OBST = [
    "a deep river",
    "a high wall",
    "a dark cave",
    "a great storm",
    "a locked gate",
    "a broken bridge",
    "a thick fog",
    "a steep hill",
    "a cold night",
    "a long road",
]
MORAL = [
    "a small kindness can change a whole day",
    "it is better to ask for help than to give up",
    "friends make every road shorter",
    "patience opens more doors than force",
    "even the smallest one can be brave",
    "sharing makes a good thing better",
    "home is where your friends are",
    "it is never too late to say sorry",
    "being different can be a gift",
    "a promise is worth keeping",
]
TREAS = [
    "a golden key",
    "an old map",
    "a silver bell",
    "a letter from long ago",
    "a box full of seeds",
    "a tiny lantern",
    "a song that nobody had heard before",
    "a jar of honey",
    "a blue stone",
    "a book with empty pages",
]
SOUND = ["a soft knock", "a strange whistle", "a quiet cry", "a loud crash", "a low humming", "someone laughing"]
START = ["Once upon a time", "Long ago", "One day", "Not so long ago", "Many years ago", "Once"]


def hero(r, name, want=None):
    """(name, kind, pronouns)"""
    if want in X.ANIMALS or (want is None and r.random() < 0.55):
        k = want or r.choice(X.ANIMALS)
        n = r.choice(X.PET_NAMES + X.NAMES) if r.random() < 0.8 else name(r)
    else:
        k = want or r.choice(
            X.JOBS
            + ["girl", "boy", "king", "queen", "wizard", "robot", "dragon", "knight", "princess", "giant", "pirate"]
        )
        n = name(r)
    if k in ("girl", "queen", "princess") or n in X.NAMES_F and k in X.JOBS:
        p = ("she", "her", "her")
        if n in X.NAMES_M and k in ("girl", "queen", "princess"):
            n = r.choice(X.NAMES_F)
    elif k in ("boy", "king", "wizard", "knight") or n in X.NAMES_M and k in X.JOBS:
        p = ("he", "him", "his")
        if n in X.NAMES_F and k in ("boy", "king", "wizard", "knight"):
            n = r.choice(X.NAMES_M)
    elif n in X.NAMES_F:
        p = ("she", "her", "her")
    else:
        p = ("he", "him", "his")
    return n, k, p


def build(r, name, kind=None, hname=None, place=None, obj=None):
    n, k, (pe, him, his) = hero(r, name, kind)
    if hname:
        n = hname
        if n in X.NAMES_F:
            pe, him, his = "she", "her", "her"
        elif n in X.NAMES_M:
            pe, him, his = "he", "him", "his"
    n2, k2, (pe2, him2, his2) = hero(r, name)
    while n2 == n or k2 == k:
        n2, k2, (pe2, him2, his2) = hero(r, name)
    pl = place or r.choice(X.PLACES)
    pl2 = r.choice([p for p in X.PLACES if p != pl])
    o = obj or r.choice(X.OBJECTS)
    a, a2 = r.sample(X.FEEL_ADJS, 2)
    ob, tr, mo = r.choice(OBST), r.choice(TREAS), r.choice(MORAL)
    color = r.choice(X.ADJS[:20] + X.COLOURS)
    t = r.choice(
        X.TIMES[:3]
        + [
            "one morning",
            "one evening",
            "one rainy afternoon",
            "one cold winter day",
            "one summer night",
            "early one morning",
        ]
    )
    start = r.choice(START)
    H, H2 = f"the {k}", f"the {k2}"
    intro = r.choice(
        (
            f"{start}, there was {a_an(a)} {k} called {n}, who lived in {a_an(pl) if r.random() < 0.5 else 'the ' + pl}.",
            f"{start}, {a_an(a)} {k} named {n} lived near {a_an(color)} {pl}.",
            f"{n} was {a_an(a)} {k} who lived {r.choice(('alone', 'with a big family', 'quietly', 'happily'))} near the {pl}.",
            f"In a small {pl} there lived {a_an(a)} {k}. {cap(his)} name was {n}.",
        )
    )
    plot = r.randrange(10)
    oneday = r.choice(
        (
            cap(
                r.choice(
                    (
                        "one morning",
                        "one evening",
                        "one rainy afternoon",
                        "one cold winter day",
                        "early one morning",
                        "one day",
                    )
                )
            ),
        )
    )
    if plot == 0:  # lost object
        body = [
            f"{n} loved {his} {color} {o} more than anything else.",
            f"{oneday}, the {o} was gone.",
            f"{cap(pe)} looked in the {pl} and behind every door, but could not find it.",
            f"Then {pe} met {a_an(a2)} {k2} called {n2}.",
            r.choice((f'"Have you seen my {o}?" asked {n}.', f'"I have lost my {o}," said {n} sadly.')),
            f'"{r.choice(("Come with me", "Follow me", "Do not worry", "Let us look together"))}," said {n2}, and they went to the {pl2}.',
            f"There, under {a_an(r.choice(X.ADJS))} {r.choice(X.THINGS)}, lay the {o}.",
            f"{n} was so happy that {pe} {r.choice(('danced', 'sang', 'laughed', 'jumped'))} all the way home.",
        ]
        end = f"From that day on, {n} and {n2} were the best of friends."
        goal = f"find the lost {o}"
    elif plot == 1:  # journey
        body = [
            f"{cap(pe)} had always dreamed of seeing the {pl2}.",
            f"{oneday}, {n} packed a small bag and set off.",
            f"After a while {pe} came to {ob}.",
            f"{n} did not know what to do, and sat down to think.",
            f'{cap(a_an(a2))} {k2} called {n2} came by and said, "{r.choice(("I know the way", "I can help you", "Take my hand", "Two are better than one"))}."',
            f"Together they went on, and in the evening they reached the {pl2}.",
            f"It was even more {r.choice(('beautiful', 'wonderful', 'colourful', 'peaceful'))} than {n} had dreamed.",
        ]
        end = f"{n} learned that {mo}."
        goal = f"see the {pl2}"
    elif plot == 2:  # sound in the night
        body = [
            f"{oneday}, {n} heard {r.choice(SOUND)} outside.",
            f"{cap(pe)} opened the door and saw {a_an(a2)} {k2}.",
            f'"My name is {n2}," said {H2}. "I am cold and hungry."',
            f"{n} made {r.choice(('some soup', 'hot tea', 'warm milk', 'a plate of bread and cheese'))} and gave {him2} a blanket.",
            f"In the morning {n2} was gone, but on the table lay {tr}.",
            f"{n} kept it for the rest of {his} life.",
        ]
        end = f"And whenever {pe} looked at it, {pe} remembered that {mo}."
        goal = f"help {n2}"
    elif plot == 3:  # fear overcome
        fear = r.choice(("the dark", "water", "loud noises", "high places", "strangers", "thunder"))
        body = [
            f"{n} was afraid of {fear}.",
            f"The others laughed, and so {pe} often stayed at home.",
            f"{oneday}, {his} friend {n2}, {a_an(k2)}, was caught in {ob.replace('a ', 'a ', 1)} near the {pl2}.",
            "Nobody else was there to help.",
            f'{n} took a deep breath and thought, "I am small, but I can try."',
            f"Step by step {pe} went on, until {pe} could reach {n2} and bring {him2} home.",
            f"After that, nobody laughed at {n} again.",
        ]
        end = f"{cap(pe)} was still a little afraid of {fear}, but now {pe} knew that {mo}."
        goal = f"save {n2}"
    elif plot == 4:  # contest
        prize = r.choice(TREAS)
        what = r.choice(
            ("race", "singing contest", "baking contest", "drawing contest", "swimming race", "kite contest")
        )
        body = [
            f"Every year there was a {what} at the {pl2}, and the prize was {prize}.",
            f"{n} wanted to win, and practised every day.",
            f"On the day of the {what}, {a_an(a2)} {k2} called {n2} fell and lost {his2} {o}.",
            f"{n} could have gone on and won, but {pe} stopped and helped {n2} up.",
            "They came last, and everyone clapped for them.",
            "The judge smiled and gave the prize to both of them.",
        ]
        end = f"That evening they shared it and agreed that {mo}."
        goal = f"win the {what}"
    elif plot == 5:  # invention / making
        made = r.choice(
            (
                "a flying boat",
                "a talking clock",
                "a tiny house",
                "a machine that makes rain",
                "a lamp that never goes out",
                "a bridge of rope",
                "a very tall ladder",
                "a cart without a horse",
            )
        )
        body = [
            f"{n} wanted to build {made}.",
            f'"That will never work," said everyone in the {pl}.',
            f"But {n} worked {r.choice(('day and night', 'every evening', 'all winter', 'for a whole year'))} with {a_an(color)} {o} and a lot of patience.",
            f"{cap(a_an(a2))} {k2} called {n2} brought {r.choice(('tea', 'wood', 'nails', 'new ideas', 'a warm coat'))} and kept {him} company.",
            "The first try failed, and so did the second.",
            f"On the third try it worked, and the whole {pl} came to see it.",
        ]
        end = f'"How did you do it?" they asked. {n} only smiled and said that {mo}.'
        goal = f"build {made}"
    elif plot == 6:  # treasure
        body = [
            f"{oneday}, {n} found a map in {a_an(color)} {o}.",
            f"It showed a path from the {pl} to the {pl2}.",
            f"{cap(pe)} asked {his} friend {n2}, {a_an(a2)} {k2}, to come along.",
            f"On the way they had to cross {ob}, and {n2} nearly gave up.",
            f'"Only a little further," said {n}.',
            f"At last they dug under {a_an(r.choice(X.ADJS))} tree and found {tr}.",
            "It was not what they had expected, but they liked it very much.",
        ]
        end = "The real treasure, they agreed, was the day they had spent together."
        goal = "find the treasure"
    elif plot == 7:  # quarrel and sorry
        body = [
            f"{his.capitalize()} best friend was {n2}, {a_an(a2)} {k2}.",
            f"{oneday}, they both wanted the same {color} {o}, and they quarrelled.",
            f'"I never want to see you again," said {n}, and went home to the {pl}.',
            "The days were long and quiet, and nothing was fun any more.",
            f"At last {n} took the {o}, walked to the {pl2}, and knocked at {n2}'s door.",
            f'"I am sorry," {pe} said. "You can have it."',
            f'"Let us share it," said {n2}, and they both laughed.',
        ]
        end = f"They understood that {mo}."
        goal = "make peace"
    elif plot == 8:  # gift / birthday
        body = [
            f"Soon it was the birthday of {n2}, {a_an(a2)} {k2}, and {n} wanted to find a present.",
            f"{cap(pe)} had no money, only {a_an(color)} {o}.",
            f"First {pe} went to the {pl2}, but everything there cost too much.",
            f"Then {pe} had an idea.",
            f"All night {n} worked, and in the morning the old {o} looked like new.",
            f"When {n2} opened the present, {pe2} was speechless.",
            f'"It is the best present of all," {pe2} said, "because you made it yourself."',
        ]
        end = f"And {n} knew that {mo}."
        goal = f"find a present for {n2}"
    else:  # moving, new in town
        body = [
            f"{n} was new in the {pl} and did not know anyone.",
            f"Every day {pe} sat alone with {his} {color} {o} and watched the others play.",
            f"{oneday}, {a_an(a2)} {k2} called {n2} sat down next to {him}.",
            f'"{r.choice(("What is that", "May I see that", "Is that yours"))}?" {pe2} asked, and pointed at the {o}.',
            f"{n} showed {him2} how it worked, and soon they were talking about everything.",
            f"The next day three others came, and then the whole {pl}.",
        ]
        end = f"{n} was not alone any more, and the {pl} felt like home."
        goal = "find friends"
    if r.random() < 0.25:
        body.insert(
            r.randrange(1, len(body)),
            f"It was a {r.choice(X.WEATHER)} day, and the {r.choice(X.PLACES)} was {r.choice(('quiet', 'empty', 'full of people', 'covered with leaves', 'bright in the sun'))}.",
        )
    paras = [intro + " " + " ".join(body[: len(body) // 2]), " ".join(body[len(body) // 2 :]) + " " + end]
    text = "\n\n".join(paras) if r.random() < 0.7 else " ".join(paras)
    s = dict(hero=n, kind=k, place=pl, helper=n2, hkind=k2, adj=a, goal=goal, end=end, obj=o, pe=pe, intro=intro)
    return text, s


def short(s):
    return f"{s['intro']} {cap(s['pe'])} wanted to {s['goal']}, and {s['helper']} the {s['hkind']} helped. {s['end']}"


def task(r, ask, name, pseudo):
    k = r.randrange(10)
    kind = hname = place = obj = None
    w = r.choice(("story", "short story", "little story", "story", "tale", "bedtime story"))
    if k <= 2:
        u = r.choice((f"tell me a {w}", f"write a {w}", f"tell a {w}", f"write me a {w}"))
    elif k <= 5:
        kind = r.choice(
            X.ANIMALS
            if r.random() < 0.7
            else X.JOBS
            + ["girl", "boy", "king", "queen", "wizard", "robot", "dragon", "knight", "princess", "giant", "pirate"]
        )
        u = r.choice(
            (
                f"tell me a {w} about {a_an(kind)}",
                f"write a {w} about {a_an(kind)}",
                f"write a {w} about {a_an(r.choice(X.FEEL_ADJS))} {kind}",
            )
        )
    elif k == 6:
        kind = r.choice(X.ANIMALS)
        hname = name(r) if r.random() < 0.8 else cap(pseudo(r))
        u = r.choice(
            (f"write a {w} about {a_an(kind)} called {hname}", f"tell me a {w} about {a_an(kind)} named {hname}")
        )
    elif k == 7:
        hname = name(r)
        u = f"tell me a {w} about {hname}"
    elif k == 8:
        kind = r.choice(X.ANIMALS + X.JOBS)
        place = r.choice(X.PLACES)
        u = f"write a {w} about {a_an(kind)} in the {place}"
    else:
        obj = r.choice(X.OBJECTS)
        u = r.choice((f"write a {w} about {a_an(obj)}", f"tell me a {w} about a lost {obj}"))
    text, s = build(r, name, kind, hname, place, obj)
    if obj and s["obj"] not in text:
        while obj not in text:
            text, s = build(r, name, None, None, None, obj)
    return ask(r, u), text, s


def follow(r, s, ask, name, pseudo, st):
    k = r.randrange(8)
    if k == 0:
        return r.choice(
            (
                f"What was the name of the {s['kind']}?",
                f"What was the {s['kind']} called?",
                "Who was the hero of the story?",
                "What was the hero's name?",
            )
        ), f"The {s['kind']} was called {s['hero']}."
    if k == 1:
        return (
            r.choice(("Who helped?", f"Who was {s['helper']}?", f"Who helped {s['hero']}?")),
            f"{s['helper']} was the {s['hkind']}."
            if r.random() < 0.5
            else f"{s['helper']} the {s['hkind']} was there too.",
        )
    if k == 2:
        return r.choice(
            (
                f"What did {s['hero']} want?",
                "What was the story about?",
                "What is the story about?",
                "What happened in the story?",
            )
        ), f"{s['hero']} the {s['kind']} wanted to {s['goal']}."
    if k == 3:
        return r.choice(
            ("Make it shorter.", "Can you shorten it?", "Shorter, please.", "Summarise the story.", "Summarise it.")
        ), short(s)
    if k == 4:
        return r.choice(("How does it end?", "How did the story end?", "What was the end?")), s["end"]
    if k == 5:
        return r.choice(("Give the story a title.", "What is a good title for it?", "Write a title.")), r.choice(
            (
                f"{s['hero']} the {cap(s['kind'])}",
                f"{s['hero']} and {s['helper']}",
                f"The {cap(s['adj'])} {cap(s['kind'])}",
            )
        )
    text, s2 = build(r, name)
    st["story"] = s2
    return r.choice(
        ("Another one.", "Tell me another story.", "One more, please.", "Another story!", "Again, but a different one.")
    ), text
