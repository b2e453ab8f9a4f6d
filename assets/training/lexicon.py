"""Word lists and small facts for the training-text generator (gen.py).

Everything here was written by hand for this project: no text is copied from
any corpus. Facts are kept to plain common knowledge.
"""


def W(s):
    return s.split()


def L(s):
    """One entry a line, '|' between fields."""
    return [tuple(f.strip() for f in l.split("|")) for l in s.strip().splitlines() if l.strip()]


NAMES_F = W("""Anna Maria Lucy Emma Sofia Clara Nora Ella Mia Zoe Ruth Alice Grace Julia Lena Ivy Rosa Hana
Leila Amina Priya Yuki Mei Olga Nina Sara Eva Iris Jane Kate Laura Megan Olivia Paula Rachel Tina Vera Wendy
Chloe Diana Elena Fiona Greta Helen Ingrid Joan Karen Linda Molly Naomi Petra Sally Tara Una Violet Zara""")
NAMES_M = W("""Tom Ben Max Leo Sam Jack Paul Peter Oscar Felix Hugo Adam Noah Liam Omar Ali Ravi Kenji Chen Ivan
Marco Luis Pedro Erik Lars Otto David Daniel Simon Mark Luke John James Harry Fred George Henry Karl Martin Nick
Oliver Robert Steve Theo Victor Walter Alex Bruno Carl Dennis Edgar Frank Gavin Ian Joel Kurt Miles Nathan Owen""")
NAMES = NAMES_F + NAMES_M
SURNAMES = W("""Smith Brown Miller Taylor Wilson Clark Lewis Walker Hall Young King Wright Green Baker Carter
Parker Cook Bell Ward Gray Cox Rossi Weber Novak Silva Lopez Meyer Berg Lind Haas Tanaka Khan Patel Okafor Duarte""")
PET_NAMES = W("""Milo Luna Bella Rex Coco Daisy Buddy Tiger Pepper Ginger Shadow Biscuit Pickle Ziggy Waffles Misty
Patch Rusty Oreo Nugget Willow Bandit Domino Mango Peanut Toffee""")
CITIES = W("""London Paris Rome Berlin Madrid Oslo Vienna Lisbon Dublin Prague Athens Tokyo Sydney Boston Chicago Denver
Toronto Seattle Austin Geneva Milan Porto Munich Lyon Bergen Cairo Nairobi Lima Seoul Mumbai Zurich Hamburg Bristol
Leeds Glasgow Turin Naples Dallas Miami Portland""")
PLACES = W("""forest village city garden park beach mountain valley farm castle school library market museum harbour
island river lake kitchen station bakery hospital office theatre bridge tower meadow desert cave hill town street
square field mill lighthouse workshop attic barn orchard cafe zoo airport playground""")
JOBS = W("""teacher doctor baker farmer painter sailor gardener writer driver nurse pilot singer tailor carpenter
programmer engineer designer librarian musician dentist lawyer cook plumber photographer student actor builder
mechanic scientist fisherman postman shepherd clockmaker blacksmith""")
ANIMALS = W("""fox cat dog rabbit bear mouse owl horse cow pig sheep goat duck hen frog wolf lion tiger elephant
monkey giraffe zebra penguin dolphin whale shark turtle snake lizard eagle parrot crow bee ant spider butterfly
squirrel hedgehog badger deer otter seal camel kangaroo koala panda bat swan goose donkey hamster beaver crab octopus snail""")
FOODS = W("""bread cheese soup rice pasta salad pizza cake pie eggs fish chicken beans potatoes pancakes sandwiches
noodles porridge yoghurt honey butter jam chocolate cookies stew curry toast""")
FRUITS = W(
    "apples pears bananas oranges grapes cherries plums peaches lemons strawberries mangoes melons kiwis figs raspberries blueberries apricots limes"
)
VEGS = W(
    "carrots potatoes onions tomatoes peas beans spinach lettuce cabbage broccoli pumpkins cucumbers peppers leeks radishes mushrooms garlic celery"
)
DRINKS = W("tea coffee milk water juice lemonade cocoa")
COLOURS = W("red blue green yellow orange purple pink brown black white grey")
OBJECTS = W("""book key map lamp box letter coin ring bell clock hat coat shoe boat bicycle kite ball drum violin mirror
ladder basket bottle cup plate spoon chair table door window candle rope hammer bucket umbrella scarf camera phone
laptop pencil notebook ticket suitcase blanket pillow telescope compass lantern whistle flag statue painting stone
feather shell button ribbon jar kettle broom sail anchor wheel bag knife torch radio guitar puzzle robot crown""")
THINGS = OBJECTS + W(
    "tree flower house car train bus road wall garden roof stove bed shelf desk fence gate tent truck plane ship wagon path stream cloud"
)
ADJS = W("""old new small big red blue green quiet loud bright dark warm cold soft heavy light clean dirty happy sad
brave clever kind lazy tired hungry strange funny gentle proud shy busy lonely curious careful cheerful empty full
long short tall wide narrow deep shallow sharp smooth rough sweet bitter fresh dry wet rich poor young strong weak
fast slow calm wild golden silver wooden broken hidden secret ancient modern simple useful lovely tiny huge famous
colourful dusty foggy sunny windy rainy snowy cosy plain fine silent honest polite silly noisy lucky""")
FEEL_ADJS = W(
    "brave clever kind lazy hungry funny gentle proud shy lonely curious careful cheerful young old small tiny quiet clumsy grumpy honest polite silly lucky stubborn patient"
)
ADVS = W(
    "slowly quickly quietly carefully happily suddenly gently loudly proudly bravely softly calmly politely eagerly safely early late together alone again often sometimes usually rarely"
)
TIMES = [
    "this morning",
    "yesterday",
    "last night",
    "on Monday",
    "on Tuesday",
    "on Friday",
    "on Sunday",
    "last week",
    "in the evening",
    "after lunch",
    "before breakfast",
    "at noon",
    "last summer",
    "in spring",
    "during the winter",
    "every day",
    "on Saturday morning",
    "two days ago",
    "at midnight",
    "at the weekend",
]
WEATHER = W("sunny rainy cloudy windy snowy foggy stormy")
# verb: base, third person, past, ing; with an object noun
VT = L("""
find|finds|found|finding
see|sees|saw|seeing
buy|buys|bought|buying
sell|sells|sold|selling
carry|carries|carried|carrying
clean|cleans|cleaned|cleaning
paint|paints|painted|painting
repair|repairs|repaired|repairing
lose|loses|lost|losing
open|opens|opened|opening
close|closes|closed|closing
hide|hides|hid|hiding
move|moves|moved|moving
bring|brings|brought|bringing
take|takes|took|taking
draw|draws|drew|drawing
build|builds|built|building
break|breaks|broke|breaking
hold|holds|held|holding
wash|washes|washed|washing
choose|chooses|chose|choosing
keep|keeps|kept|keeping
love|loves|loved|loving
need|needs|needed|needing
want|wants|wanted|wanting
forget|forgets|forgot|forgetting
borrow|borrows|borrowed|borrowing
drop|drops|dropped|dropping
push|pushes|pushed|pushing
pull|pulls|pulled|pulling
check|checks|checked|checking
order|orders|ordered|ordering
pack|packs|packed|packing
send|sends|sent|sending
show|shows|showed|showing
steal|steals|stole|stealing
throw|throws|threw|throwing
catch|catches|caught|catching
make|makes|made|making
use|uses|used|using
""")
VI = L("""
walk|walks|walked|walking
run|runs|ran|running
sleep|sleeps|slept|sleeping
wait|waits|waited|waiting
sing|sings|sang|singing
dance|dances|danced|dancing
swim|swims|swam|swimming
laugh|laughs|laughed|laughing
work|works|worked|working
play|plays|played|playing
sit|sits|sat|sitting
stand|stands|stood|standing
talk|talks|talked|talking
travel|travels|travelled|travelling
rest|rests|rested|resting
live|lives|lived|living
arrive|arrives|arrived|arriving
read|reads|read|reading
cook|cooks|cooked|cooking
study|studies|studied|studying
jump|jumps|jumped|jumping
climb|climbs|climbed|climbing
smile|smiles|smiled|smiling
shout|shouts|shouted|shouting
""")
PAST_IRREG = L("""
go|went
eat|ate
drink|drank
come|came
give|gave
know|knew
think|thought
write|wrote
speak|spoke
fly|flew
grow|grew
teach|taught
feel|felt
leave|left
meet|met
pay|paid
say|said
tell|told
win|won
wear|wore
begin|began
drive|drove
fall|fell
hear|heard
""")
PLURALS = L("""
cat|cats
dog|dogs
child|children
mouse|mice
foot|feet
tooth|teeth
man|men
woman|women
person|people
box|boxes
bus|buses
city|cities
baby|babies
knife|knives
leaf|leaves
wolf|wolves
sheep|sheep
fish|fish
goose|geese
potato|potatoes
tomato|tomatoes
story|stories
house|houses
book|books
glass|glasses
brush|brushes
life|lives
shelf|shelves
party|parties
dish|dishes
""")
OPPOSITES = L("""
hot|cold
big|small
up|down
left|right
fast|slow
happy|sad
old|young
new|old
light|dark
open|closed
early|late
rich|poor
strong|weak
hard|soft
wet|dry
full|empty
high|low
long|short
day|night
good|bad
clean|dirty
loud|quiet
near|far
in|out
on|off
first|last
thick|thin
wide|narrow
heavy|light
easy|difficult
begin|end
love|hate
win|lose
buy|sell
give|take
push|pull
summer|winter
true|false
cheap|expensive
brave|cowardly
polite|rude
deep|shallow
safe|dangerous
same|different
tall|short
""")
SYNONYMS = L("""
happy|glad, cheerful and joyful
sad|unhappy, gloomy and sorrowful
big|large, huge and enormous
small|little, tiny and compact
fast|quick, rapid and swift
slow|unhurried, sluggish and gradual
smart|clever, bright and intelligent
brave|courageous, bold and fearless
beautiful|lovely, pretty and gorgeous
angry|cross, furious and annoyed
tired|weary, sleepy and exhausted
funny|amusing, comical and witty
quiet|silent, still and calm
important|essential, vital and significant
good|fine, great and excellent
bad|poor, awful and terrible
start|begin, launch and commence
end|finish, stop and conclude
help|assist, aid and support
easy|simple, effortless and straightforward
difficult|hard, tough and challenging
strange|odd, unusual and peculiar
rich|wealthy, prosperous and well-off
begin|start, open and commence
nice|pleasant, kind and friendly
old|aged, ancient and elderly
make|create, build and produce
look|watch, gaze and glance
say|tell, state and mention
walk|stroll, wander and march
""")
RHYMES = L("""
cat|hat, mat and bat
dog|fog, log and frog
sun|fun, run and bun
moon|spoon, soon and balloon
tree|sea, bee and free
light|night, bright and kite
day|play, way and say
star|car, far and jar
house|mouse and blouse
rain|train, plane and chain
cake|lake, snake and make
bell|shell, well and tell
king|ring, sing and wing
boat|coat, goat and note
bear|chair, hair and pear
blue|shoe, new and true
snow|grow, know and slow
book|look, cook and hook
night|light, kite and bright
ball|wall, tall and small
""")
CAPITALS = L("""
France|Paris|Europe
Germany|Berlin|Europe
Italy|Rome|Europe
Spain|Madrid|Europe
Portugal|Lisbon|Europe
the United Kingdom|London|Europe
England|London|Europe
Scotland|Edinburgh|Europe
Ireland|Dublin|Europe
Austria|Vienna|Europe
Belgium|Brussels|Europe
the Netherlands|Amsterdam|Europe
Denmark|Copenhagen|Europe
Norway|Oslo|Europe
Sweden|Stockholm|Europe
Finland|Helsinki|Europe
Iceland|Reykjavik|Europe
Poland|Warsaw|Europe
Greece|Athens|Europe
Hungary|Budapest|Europe
Romania|Bucharest|Europe
Bulgaria|Sofia|Europe
Croatia|Zagreb|Europe
Serbia|Belgrade|Europe
Ukraine|Kyiv|Europe
Russia|Moscow|Europe
Estonia|Tallinn|Europe
Latvia|Riga|Europe
Lithuania|Vilnius|Europe
the Czech Republic|Prague|Europe
Slovakia|Bratislava|Europe
Slovenia|Ljubljana|Europe
Switzerland|Bern|Europe
Turkey|Ankara|Asia
Japan|Tokyo|Asia
China|Beijing|Asia
India|New Delhi|Asia
South Korea|Seoul|Asia
Thailand|Bangkok|Asia
Vietnam|Hanoi|Asia
Indonesia|Jakarta|Asia
the Philippines|Manila|Asia
Malaysia|Kuala Lumpur|Asia
Nepal|Kathmandu|Asia
Iran|Tehran|Asia
Iraq|Baghdad|Asia
Saudi Arabia|Riyadh|Asia
Israel|Jerusalem|Asia
Pakistan|Islamabad|Asia
Mongolia|Ulaanbaatar|Asia
Egypt|Cairo|Africa
Kenya|Nairobi|Africa
Nigeria|Abuja|Africa
Ghana|Accra|Africa
Morocco|Rabat|Africa
Tunisia|Tunis|Africa
Ethiopia|Addis Ababa|Africa
Senegal|Dakar|Africa
the United States|Washington, D.C.|North America
Canada|Ottawa|North America
Mexico|Mexico City|North America
Cuba|Havana|North America
Jamaica|Kingston|North America
Brazil|Brasilia|South America
Argentina|Buenos Aires|South America
Chile|Santiago|South America
Peru|Lima|South America
Colombia|Bogota|South America
Ecuador|Quito|South America
Uruguay|Montevideo|South America
Venezuela|Caracas|South America
Australia|Canberra|Oceania
New Zealand|Wellington|Oceania
""")
SOUNDS = L("""
cat|meow
dog|woof
cow|moo
sheep|baa
duck|quack
pig|oink
lion|roar
horse|neigh
owl|hoot
frog|croak
bee|buzz
snake|hiss
hen|cluck
mouse|squeak
crow|caw
donkey|hee-haw
wolf|howl
""")
BABIES = L("""
cat|kitten
dog|puppy
cow|calf
sheep|lamb
horse|foal
pig|piglet
duck|duckling
goose|gosling
hen|chick
bear|cub
lion|cub
fox|cub
deer|fawn
goat|kid
kangaroo|joey
swan|cygnet
frog|tadpole
seal|pup
owl|owlet
elephant|calf
""")
# animal: legs, home, food, one fact
ANIMAL_FACTS = L("""
fox|4|woods and fields|mice, berries and insects|A fox has very good hearing and can hear a mouse under the snow.
cat|4|homes and gardens|meat and fish|A cat sleeps for more than half of the day.
dog|4|homes with people|meat and dog food|A dog can smell far better than a person can.
rabbit|4|burrows under the ground|grass and leaves|A rabbit's teeth never stop growing.
bear|4|forests and mountains|berries, fish and honey|Many bears sleep for most of the winter.
mouse|4|fields, barns and houses|seeds and grain|A mouse can squeeze through a very small hole.
owl|2|trees and barns|mice and insects|An owl can turn its head very far to look behind itself.
horse|4|fields and stables|grass and hay|A horse can sleep standing up.
cow|4|farms and fields|grass|A cow has a stomach with four parts.
sheep|4|hills and fields|grass|The wool of a sheep is used to make warm clothes.
goat|4|hills and mountains|grass and leaves|A goat is very good at climbing.
duck|2|ponds and rivers|plants, seeds and insects|The feathers of a duck keep the water out.
frog|4|ponds and wet places|insects|A frog starts its life as a tadpole.
wolf|4|forests and mountains|deer and other animals|Wolves live and hunt together in packs.
lion|4|the grasslands of Africa|zebras and antelopes|A group of lions is called a pride.
tiger|4|the forests of Asia|deer and wild pigs|No two tigers have the same stripes.
elephant|4|Africa and Asia|grass, leaves and fruit|The elephant is the largest animal on land.
monkey|2|forests|fruit, leaves and insects|Many monkeys use their tails to hold on to branches.
giraffe|4|the grasslands of Africa|leaves from tall trees|The giraffe is the tallest animal in the world.
zebra|4|the grasslands of Africa|grass|Every zebra has its own pattern of stripes.
penguin|2|cold southern coasts|fish|A penguin cannot fly, but it swims very well.
dolphin|0|the sea|fish|A dolphin is a mammal and must come up to breathe.
whale|0|the oceans|fish and tiny sea animals|The blue whale is the largest animal that has ever lived.
shark|0|the sea|fish|A shark can lose many teeth and grow new ones.
turtle|4|the sea, ponds and rivers|plants, fish and insects|A turtle carries its shell for its whole life.
snake|0|forests, deserts and fields|mice, birds and eggs|A snake smells with its tongue.
eagle|2|mountains and cliffs|fish and small animals|An eagle can see a rabbit from very far away.
parrot|2|warm forests|seeds, nuts and fruit|Some parrots can copy human words.
bee|6|hives|nectar and pollen|Bees make honey and help flowers to grow.
ant|6|nests in the ground|seeds, plants and sweet things|An ant can carry things much heavier than itself.
spider|8|webs and dark corners|insects|A spider is not an insect, because it has eight legs.
butterfly|6|gardens and meadows|nectar from flowers|A butterfly begins its life as a caterpillar.
squirrel|4|trees|nuts and seeds|A squirrel hides nuts in the ground for the winter.
hedgehog|4|gardens and hedges|insects and worms|A hedgehog rolls into a ball when it is afraid.
deer|4|forests|grass and leaves|A male deer grows new antlers every year.
otter|4|rivers and coasts|fish|Some otters use stones to open shells.
camel|4|deserts|grass and desert plants|A camel stores fat in its hump.
kangaroo|2|Australia|grass|A baby kangaroo grows in its mother's pouch.
koala|4|Australia|eucalyptus leaves|A koala sleeps for most of the day.
panda|4|the mountains of China|bamboo|A panda spends many hours a day eating bamboo.
bat|2|caves and attics|insects and fruit|A bat is the only mammal that can really fly.
octopus|8|the sea|crabs and shellfish|An octopus has eight arms and three hearts.
snail|0|gardens|leaves|A snail carries its house on its back.
swan|2|lakes and rivers|water plants|A swan often stays with one partner for life.
beaver|4|rivers|bark and plants|A beaver builds dams from branches and mud.
""")
SIZES = W("ant bee mouse frog hedgehog cat fox dog sheep pig lion horse camel giraffe elephant whale")
# things and short explanations: topic | explanation
EXPLAIN = L("""
photosynthesis|Photosynthesis is the way plants make their food. They use sunlight, water and carbon dioxide, and they give off oxygen.
gravity|Gravity is the force that pulls things towards each other. It keeps our feet on the ground and the Moon near the Earth.
rain|Rain falls when tiny drops of water in a cloud join together and become too heavy to stay in the air.
snow|Snow forms when water in a cold cloud freezes into small crystals of ice that fall to the ground.
a rainbow|A rainbow appears when sunlight passes through drops of rain and splits into many colours.
the moon|The Moon is the Earth's only natural satellite. It goes around the Earth in about a month.
the sun|The Sun is the star at the centre of our solar system. It gives the Earth light and heat.
a star|A star is a huge ball of hot gas that makes its own light. The Sun is the nearest star.
a planet|A planet is a large round body that goes around a star. The Earth is a planet.
the solar system|The solar system is the Sun and everything that goes around it: eight planets, their moons and many smaller bodies.
the water cycle|Water rises from seas and lakes as vapour, forms clouds, falls as rain or snow, and flows back to the sea.
a volcano|A volcano is an opening in the ground where hot melted rock, ash and gas can come out.
an earthquake|An earthquake happens when parts of the Earth's crust move suddenly and make the ground shake.
the wind|Wind is air that moves from places with high pressure to places with low pressure.
a cloud|A cloud is a large group of tiny drops of water or ice floating in the air.
thunder|Thunder is the sound that lightning makes when it heats the air very quickly.
lightning|Lightning is a giant spark of electricity in a storm.
the seasons|The seasons change because the Earth is tilted while it goes around the Sun.
the tides|The tides are the rise and fall of the sea. They are caused mostly by the pull of the Moon.
day and night|We have day and night because the Earth turns around once every 24 hours.
electricity|Electricity is the flow of tiny charged particles. We use it for light, heat and machines.
a magnet|A magnet is a piece of metal that pulls iron and some other metals towards it.
a battery|A battery stores energy and turns it into electricity when it is needed.
a computer|A computer is a machine that follows instructions very quickly to work with information.
the internet|The internet is a worldwide network that lets computers exchange information.
a program|A program is a list of instructions that tells a computer what to do.
software|Software is the set of programs that a computer runs.
an algorithm|An algorithm is a list of clear steps for solving a problem.
a variable|A variable is a name in a program that stands for a value.
a function|A function is a named piece of code that takes inputs and can return a result.
a loop|A loop repeats a block of code several times.
a list|A list holds several values in a fixed order.
a database|A database is an organised store of information that programs can search and change.
a file|A file is a named piece of stored data, such as a document or a picture.
a language model|A language model is a program that predicts the next piece of text. It learns patterns from many examples.
a neural network|A neural network is a program made of many simple connected units that learn from examples.
a token|A token is a small piece of text, often a word or part of a word, that a language model reads or writes.
quantisation|Quantisation stores the numbers of a model with fewer bits, so that it needs less memory.
artificial intelligence|Artificial intelligence means computer programs that do tasks which usually need human thinking.
a robot|A robot is a machine that can do tasks by itself by following a program.
encryption|Encryption turns a message into a secret form that only someone with the right key can read.
a password|A password is a secret word that proves who you are. A good password is long and hard to guess.
a browser|A browser is a program for looking at pages on the web.
a keyboard|A keyboard is a set of keys used to type text into a computer.
memory|In a computer, memory is the place where data is kept while programs are running.
a processor|A processor is the part of a computer that carries out the instructions.
an atom|An atom is the smallest piece of a chemical element. Everything around us is made of atoms.
a molecule|A molecule is a group of atoms that are joined together.
water|Water is a clear liquid made of hydrogen and oxygen. All living things need it.
oxygen|Oxygen is a gas in the air that people and animals need to breathe.
ice|Ice is water that has become solid because it is cold.
steam|Steam is water that has become a gas because it is hot.
heat|Heat is energy that moves from warm things to cold things.
energy|Energy is the ability to do work, such as moving, heating or lighting something.
light|Light is a kind of energy that lets us see. It travels very fast.
sound|Sound is a vibration that travels through the air or another material to our ears.
friction|Friction is the force that slows things down when they rub against each other.
a cell|A cell is the smallest living part of a plant or an animal.
the heart|The heart is a muscle that pumps blood through the body.
the brain|The brain controls the body and lets us think, feel and remember.
the lungs|The lungs bring oxygen into the body and let carbon dioxide out.
bones|Bones hold the body up and protect the soft parts inside.
sleep|Sleep is a time of rest in which the body and the brain recover.
a vitamin|A vitamin is something the body needs in small amounts to stay healthy.
a seed|A seed is the small part of a plant from which a new plant can grow.
a root|A root is the part of a plant that takes water from the soil.
a flower|A flower is the part of a plant that makes seeds.
a tree|A tree is a tall plant with a trunk made of wood.
a forest|A forest is a large area covered with trees.
a desert|A desert is a very dry place where few plants grow.
an island|An island is a piece of land with water all around it.
a river|A river is a long stream of water that flows to a lake or the sea.
a mountain|A mountain is a very high part of the land.
the ocean|The ocean is the huge body of salt water that covers most of the Earth.
a mammal|A mammal is an animal that feeds its young with milk. Dogs, whales and people are mammals.
an insect|An insect is a small animal with six legs.
a bird|A bird is an animal with feathers, two legs and two wings.
a fish|A fish is an animal that lives in water and breathes with gills.
a reptile|A reptile is a cold-blooded animal with scales, such as a snake or a lizard.
a dinosaur|Dinosaurs were reptiles that lived on the Earth millions of years ago.
a fossil|A fossil is what is left in rock of a plant or animal that lived long ago.
recycling|Recycling means using old materials again to make new things.
a map|A map is a drawing that shows where places are.
a compass|A compass is a tool with a needle that points north.
a telescope|A telescope makes things that are far away look nearer.
a microscope|A microscope makes very small things look larger.
a thermometer|A thermometer measures how hot or cold something is.
a calendar|A calendar shows the days, weeks and months of a year.
a leap year|A leap year has 366 days. It comes about every four years, with an extra day in February.
money|Money is what people use to pay for things.
a budget|A budget is a plan for how to spend and save money.
a library|A library is a place where people can read and borrow books.
a museum|A museum is a place where interesting old or beautiful things are shown.
a noun|A noun is a word for a person, a place or a thing.
a verb|A verb is a word for an action or a state, such as run or be.
an adjective|An adjective is a word that describes a noun, such as red or small.
a metaphor|A metaphor describes one thing as if it were another, to make the meaning vivid.
a fraction|A fraction is a part of a whole, such as one half or three quarters.
a prime number|A prime number is a whole number greater than one that can only be divided by one and itself.
an even number|An even number can be divided by two without a remainder.
a triangle|A triangle is a shape with three sides and three corners.
a square|A square is a shape with four equal sides and four right angles.
a circle|A circle is a round shape. Every point on it has the same distance from the centre.
democracy|Democracy is a form of government in which the people vote for their leaders.
a computer virus|A computer virus is a harmful program that copies itself from one computer to another.
a backup|A backup is a copy of your files that you keep in case the originals are lost.
the cloud|In computing, the cloud means using other computers over the internet to store data or run programs.
bread|Bread is a food made from flour, water and usually yeast, baked in an oven.
honey|Honey is a sweet food that bees make from the nectar of flowers.
chess|Chess is a board game for two players. The goal is to trap the other player's king.
football|Football is a game in which two teams of eleven players try to kick a ball into the other team's goal.
a piano|A piano is a large instrument with black and white keys.
a guitar|A guitar is an instrument with strings, usually six, that you pluck or strum.
""")
FUN_FACTS = [f[4] for f in ANIMAL_FACTS] + [
    "Honey can keep for a very long time without going bad.",
    "The Moon goes around the Earth in about a month.",
    "Light from the Sun needs about eight minutes to reach the Earth.",
    "Water covers more than two thirds of the Earth.",
    "Bananas grow on plants, not on trees.",
    "A year on Mercury is shorter than three months on the Earth.",
    "Sound travels faster in water than in air.",
    "Jupiter is the largest planet in the solar system.",
    "Bamboo can grow very quickly, sometimes almost a metre in a day.",
    "The Pacific is the largest ocean on the Earth.",
    "A day on Venus is longer than its year.",
    "Diamonds are made of carbon, just like the lead of a pencil.",
    "The human body has more than two hundred bones.",
    "Ice is lighter than water, so it floats.",
]
JOKES = [
    ("Why did the robot sit in the sun?", "It wanted to charge its batteries."),
    ("Why was the computer cold?", "It had left all its windows open."),
    ("What did the clock say at midnight?", "Hands up!"),
    ("Why did the pencil look so sad?", "It had lost its point."),
    ("What do you call a sleeping bull?", "A bulldozer."),
    ("Why did the tomato blush?", "It saw the salad dressing."),
    ("Why did the tiny model cross the road?", "It predicted the other side."),
    ("What is a cat's favourite colour?", "Purr-ple."),
    ("Why do bees hum?", "They forgot the words."),
    ("What did the big candle say to the small one?", "You are too young to go out."),
    ("Why did the book go to the doctor?", "It had hurt its spine."),
    ("What does a cloud wear under its coat?", "Thunderwear."),
    ("Why was the broom late?", "It over-swept."),
    ("What kind of tree fits in your hand?", "A palm tree."),
    ("Why did the programmer stay in the shower?", "The bottle said: wash, rinse, repeat."),
    ("What do you call a snowman in July?", "A puddle."),
    ("Why can a bicycle not stand up by itself?", "It is two-tired."),
    ("What did one wall say to the other wall?", "Let's meet at the corner."),
]
DAYS = W("Monday Tuesday Wednesday Thursday Friday Saturday Sunday")
MONTHS = W("January February March April May June July August September October November December")
MONTH_DAYS = dict(zip(MONTHS, [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]))
SEASONS = W("spring summer autumn winter")
PLANETS = W("Mercury Venus Earth Mars Jupiter Saturn Uranus Neptune")
CONTINENTS = ["Africa", "Antarctica", "Asia", "Europe", "North America", "Oceania", "South America"]
ONES = W(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
)
TENS = [None, None] + W("twenty thirty forty fifty sixty seventy eighty ninety")
ORD = W("first second third fourth fifth sixth seventh eighth ninth tenth")
UNITS = L("""
minutes|an hour|60
seconds|a minute|60
hours|a day|24
days|a week|7
months|a year|12
weeks|a year|52
days|a year|365
centimetres|a metre|100
metres|a kilometre|1000
grams|a kilogram|1000
legs|a spider|8
legs|an insect|6
sides|a triangle|3
sides|a square|4
sides|a hexagon|6
sides|a pentagon|5
letters|the English alphabet|26
players|a football team|11
wheels|a bicycle|2
wheels|a car|4
strings|a usual guitar|6
planets|the solar system|8
colours|a rainbow|7
years|a century|100
years|a decade|10
continents|the world|7
seasons|a year|4
eggs|a dozen|12
""")
QA = L("""
What colour is the sky?|On a clear day the sky is blue.
What colour is grass?|Grass is green.
What colour is snow?|Snow is white.
What colour is a banana?|A ripe banana is yellow.
What colour is the sun?|The Sun looks yellow from the Earth, but its light is really white.
What do you get when you mix blue and yellow?|When you mix blue and yellow, you get green.
What do you get when you mix red and yellow?|When you mix red and yellow, you get orange.
What do you get when you mix red and blue?|When you mix red and blue, you get purple.
What do you get when you mix red and white?|When you mix red and white, you get pink.
What do you get when you mix black and white?|When you mix black and white, you get grey.
What do bees make?|Bees make honey.
What do cows drink?|Cows drink water. Calves drink milk.
Where does milk come from?|Milk comes from cows and other mammals.
Where do fish live?|Fish live in water.
What is the largest planet?|The largest planet in the solar system is Jupiter.
What is the smallest planet?|The smallest planet in the solar system is Mercury.
Which planet is nearest to the sun?|Mercury is the planet nearest to the Sun.
Which planet do we live on?|We live on the planet Earth.
Which planet is called the red planet?|Mars is called the red planet.
What is the largest ocean?|The Pacific is the largest ocean.
What is the largest animal?|The blue whale is the largest animal.
What is the tallest animal?|The giraffe is the tallest animal.
What is the fastest land animal?|The cheetah is the fastest animal on land.
What is the highest mountain?|Mount Everest is the highest mountain in the world.
What is the largest country?|Russia is the largest country in the world by area.
What is frozen water called?|Frozen water is called ice.
At what temperature does water boil?|Water boils at 100 degrees Celsius at sea level.
At what temperature does water freeze?|Water freezes at 0 degrees Celsius.
What is the first month of the year?|The first month of the year is January.
What is the last month of the year?|The last month of the year is December.
What is the first day of the week?|In many countries the week begins on Monday.
What is the shortest month?|February is the shortest month.
What is the opposite of true?|The opposite of true is false.
What is the first letter of the alphabet?|The first letter of the alphabet is A.
What is the last letter of the alphabet?|The last letter of the alphabet is Z.
Which letters are vowels?|The vowels are A, E, I, O and U.
What language do people speak in Brazil?|Most people in Brazil speak Portuguese.
What language do people speak in Austria?|Most people in Austria speak German.
What language do people speak in Mexico?|Most people in Mexico speak Spanish.
What language do people speak in France?|Most people in France speak French.
What language do people speak in Japan?|Most people in Japan speak Japanese.
Who wrote Romeo and Juliet?|William Shakespeare wrote Romeo and Juliet.
Who painted the Mona Lisa?|Leonardo da Vinci painted the Mona Lisa.
Is the earth round?|Yes. The Earth is almost a perfect ball.
Is the sun a star?|Yes. The Sun is a star.
Is a whale a fish?|No. A whale is a mammal.
Is a spider an insect?|No. A spider has eight legs, and an insect has six.
Is a tomato a fruit?|Yes. For a botanist a tomato is a fruit, though we cook it like a vegetable.
Can penguins fly?|No. Penguins cannot fly, but they swim very well.
Can fish breathe air?|Most fish cannot. They take oxygen from the water with their gills.
Do plants need light?|Yes. Plants need light to make their food.
Why is the sky blue?|The air scatters blue light from the Sun more than other colours, so the sky looks blue.
Why do leaves fall in autumn?|Many trees drop their leaves in autumn to save water and energy in winter.
Why do we sleep?|We sleep so that the body and the brain can rest and recover.
Why do cats purr?|Cats often purr when they feel calm and safe.
Why is the sea salty?|Rivers carry small amounts of salt from rocks into the sea, and it stays there.
Why does ice float?|Ice floats because it is lighter than the same amount of water.
How do birds fly?|Birds fly by flapping their wings, which push the air down and lift the bird up.
How do plants grow?|Plants grow with the help of light, water, air and soil.
How do you make tea?|Boil some water, pour it over the tea, wait a few minutes, and enjoy.
How is bread made?|Mix flour, water, salt and yeast, let the dough rise, and bake it in the oven.
""")
TYPOS = L("""
the|teh
receive|recieve
friend|freind
because|becuase
believe|beleive
their|thier
definitely|definately
separate|seperate
tomorrow|tommorow
necessary|neccessary
beginning|begining
address|adress
weird|wierd
really|realy
until|untill
which|wich
people|poeple
before|befor
and|adn
with|wiht
have|ahve
about|abuot
would|woud
should|shoud
every|evry
quiet|qiuet
beautiful|beatiful
remember|rember
different|diffrent
interesting|intresting
always|allways
careful|carefull
found|foudn
looking|lookng
yesterday|yesterady
morning|mornign
house|huose
garden|gardne
library|libary
kitchen|kichen
small|smal
broken|brokne
window|windwo
wanted|wnated
bought|bougth
""")
CONTRACT = L("""
do not|don't
does not|doesn't
did not|didn't
is not|isn't
are not|aren't
was not|wasn't
cannot|can't
will not|won't
could not|couldn't
I am|I'm
I have|I've
I will|I'll
you are|you're
we are|we're
they are|they're
it is|it's
that is|that's
he is|he's
she is|she's
let us|let's
""")
FRENCH = L("""
hello|bonjour
good morning|bonjour
good evening|bonsoir
good night|bonne nuit
goodbye|au revoir
please|s'il vous plaît
thank you|merci
thank you very much|merci beaucoup
you are welcome|de rien
yes|oui
no|non
excuse me|excusez-moi
I am sorry|je suis désolé
how are you?|comment allez-vous ?
I am fine|je vais bien
what is your name?|comment vous appelez-vous ?
my name is {N}|je m'appelle {N}
I am hungry|j'ai faim
I am thirsty|j'ai soif
I am tired|je suis fatigué
I do not understand|je ne comprends pas
I speak a little French|je parle un peu français
do you speak English?|parlez-vous anglais ?
where is the station?|où est la gare ?
where are the toilets?|où sont les toilettes ?
how much is it?|combien ça coûte ?
what time is it?|quelle heure est-il ?
I love you|je t'aime
I live in {C}|j'habite à {C}
I would like a coffee|je voudrais un café
the bill, please|l'addition, s'il vous plaît
see you tomorrow|à demain
see you soon|à bientôt
have a nice day|bonne journée
happy birthday|joyeux anniversaire
good luck|bonne chance
welcome|bienvenue
of course|bien sûr
I like music|j'aime la musique
I like to read|j'aime lire
it is cold|il fait froid
it is hot|il fait chaud
it is raining|il pleut
the weather is nice|il fait beau
I have a dog|j'ai un chien
I have a cat|j'ai un chat
I am at home|je suis à la maison
we are ready|nous sommes prêts
I need help|j'ai besoin d'aide
today is Monday|aujourd'hui, c'est lundi
""")
FR_NOUN = L("""
cat|chat|m
dog|chien|m
house|maison|f
book|livre|m
car|voiture|f
flower|fleur|f
table|table|f
chair|chaise|f
horse|cheval|m
bird|oiseau|m'
boat|bateau|m
door|porte|f
window|fenêtre|f
garden|jardin|m
bread|pain|m
cheese|fromage|m
apple|pomme|f
hat|chapeau|m
key|clé|f
city|ville|f
street|rue|f
school|école|f'
friend|ami|m'
""")
FR_ADJ = L("""
red|rouge|rouge
green|vert|verte
black|noir|noire
white|blanc|blanche
blue|bleu|bleue
yellow|jaune|jaune
grey|gris|grise
""")
FR_NUM = W(
    "un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize dix-sept dix-huit dix-neuf vingt"
)
FR_DAYS = W("lundi mardi mercredi jeudi vendredi samedi dimanche")
FR_MONTHS = W("janvier février mars avril mai juin juillet août septembre octobre novembre décembre")
FR_COL = W("rouge bleu vert jaune orange violet rose marron noir blanc gris")
SPANISH = L("""
hello|hola
good morning|buenos días
good night|buenas noches
goodbye|adiós
please|por favor
thank you|gracias
thank you very much|muchas gracias
yes|sí
no|no
how are you?|¿cómo estás?
I am fine|estoy bien
my name is {N}|me llamo {N}
I love you|te quiero
I am hungry|tengo hambre
I am sorry|lo siento
where is the station?|¿dónde está la estación?
what time is it?|¿qué hora es?
see you tomorrow|hasta mañana
happy birthday|feliz cumpleaños
I need help|necesito ayuda
""")
GERMAN = L("""
hello|hallo
good morning|guten Morgen
good evening|guten Abend
good night|gute Nacht
goodbye|auf Wiedersehen
please|bitte
thank you|danke
thank you very much|vielen Dank
yes|ja
no|nein
how are you?|wie geht es Ihnen?
I am fine|mir geht es gut
my name is {N}|ich heiße {N}
I love you|ich liebe dich
I am hungry|ich habe Hunger
I am sorry|es tut mir leid
where is the station?|wo ist der Bahnhof?
what time is it?|wie spät ist es?
see you tomorrow|bis morgen
happy birthday|alles Gute zum Geburtstag
I need help|ich brauche Hilfe
""")
HOBBIES = [
    "reading",
    "painting",
    "cooking",
    "swimming",
    "hiking",
    "gardening",
    "chess",
    "cycling",
    "dancing",
    "fishing",
    "photography",
    "singing",
    "running",
    "knitting",
    "playing the guitar",
    "playing the piano",
    "football",
    "tennis",
    "drawing",
    "baking",
]
# topics the model does not know: used for honest "I don't know" answers
UNKNOWN_TOPICS = (
    W("""inflation thermodynamics philosophy cryptocurrency astrology genetics linguistics calculus
bankruptcy mythology architecture surgery insurance geology economics theology biochemistry statistics politics
archaeology opera ballet taxation investing mortgages semiconductors superconductors topology kubernetes
virology psychology sociology anthropology rhetoric logistics metallurgy acoustics optics cosmology blockchain
existentialism impressionism jazz feudalism mercantilism neutrinos enzymes proteins antibodies glaciers tectonics""")
    + [
        "quantum physics",
        "quantum computing",
        "the stock market",
        "the French Revolution",
        "the Roman Empire",
        "the Second World War",
        "machine learning theory",
        "tax law",
        "contract law",
        "heart disease",
        "nuclear power",
        "climate policy",
        "the Renaissance",
        "string theory",
        "black holes",
        "general relativity",
        "organic chemistry",
        "medieval history",
        "foreign policy",
        "patent law",
        "the Cold War",
        "space travel",
        "the Industrial Revolution",
        "monetary policy",
        "compiler design",
        "operating systems",
        "modern art",
        "classical music",
        "the human genome",
    ]
)
ADVICE = {
    "sleep better": [
        "Go to bed at the same time every day.",
        "Keep the room dark and cool.",
        "Put screens away an hour before bed.",
        "Avoid coffee in the evening.",
    ],
    "focus better": [
        "Work on one thing at a time.",
        "Put your phone in another room.",
        "Take a short break every hour.",
        "Write down your next step.",
    ],
    "learn a language": [
        "Practise a little every day.",
        "Learn whole phrases, not only words.",
        "Listen to songs and short talks.",
        "Speak from the first week.",
    ],
    "save money": [
        "Write down what you spend.",
        "Make a simple budget.",
        "Cook at home more often.",
        "Wait a day before you buy something big.",
    ],
    "be more productive": [
        "Plan the day in the morning.",
        "Do the hardest task first.",
        "Group small tasks together.",
        "Stop and rest when you are tired.",
    ],
    "eat healthier": [
        "Eat more vegetables and fruit.",
        "Drink water instead of sweet drinks.",
        "Cook simple meals at home.",
        "Eat slowly.",
    ],
    "get fit": [
        "Walk a little more every day.",
        "Choose a sport you enjoy.",
        "Start gently and increase slowly.",
        "Rest between hard days.",
    ],
    "study for an exam": [
        "Start early and make a plan.",
        "Practise with old questions.",
        "Explain the topic in your own words.",
        "Sleep well the night before.",
    ],
    "write better": [
        "Use short sentences.",
        "Cut words you do not need.",
        "Read your text aloud.",
        "Ask a friend to read it.",
    ],
    "stay calm": [
        "Breathe slowly a few times.",
        "Take a short walk.",
        "Talk to someone you trust.",
        "Write down what worries you.",
    ],
    "learn to cook": [
        "Begin with simple recipes.",
        "Read the whole recipe first.",
        "Taste while you cook.",
        "Cook the same dish a few times.",
    ],
    "learn programming": [
        "Write small programs every day.",
        "Read code by other people.",
        "Fix one error at a time.",
        "Build something you would like to use.",
    ],
    "keep plants alive": [
        "Give them enough light.",
        "Water them only when the soil is dry.",
        "Use pots with holes.",
        "Turn them from time to time.",
    ],
    "make friends": [
        "Join a club or a class.",
        "Ask people questions and listen.",
        "Be kind and patient.",
        "Invite someone for a walk or a coffee.",
    ],
    "clean my room": [
        "Start with one corner.",
        "Put things back in their places.",
        "Throw away what you do not need.",
        "Finish with the floor.",
    ],
    "wake up early": [
        "Go to bed earlier.",
        "Put the alarm far from the bed.",
        "Open the curtains at once.",
        "Plan something nice for the morning.",
    ],
    "prepare for an interview": [
        "Read about the company.",
        "Practise a few common answers.",
        "Prepare two questions of your own.",
        "Arrive a little early.",
    ],
    "reduce stress": [
        "Sleep enough.",
        "Move your body every day.",
        "Say no to tasks you cannot take.",
        "Make time for something you enjoy.",
    ],
}
RECIPES = {
    "pancakes": (
        ["200 g flour", "2 eggs", "300 ml milk", "a little salt"],
        [
            "Mix everything into a smooth batter.",
            "Heat a little butter in a pan.",
            "Pour in some batter and bake it on both sides.",
            "Serve with jam or honey.",
        ],
    ),
    "tomato soup": (
        ["6 tomatoes", "1 onion", "500 ml water", "salt and pepper"],
        [
            "Chop the onion and the tomatoes.",
            "Fry the onion in a little oil.",
            "Add the tomatoes and the water and cook for 20 minutes.",
            "Blend the soup and season it.",
        ],
    ),
    "an omelette": (
        ["3 eggs", "a little milk", "butter", "salt"],
        [
            "Beat the eggs with the milk and the salt.",
            "Melt the butter in a pan.",
            "Pour in the eggs and cook them gently.",
            "Fold the omelette and serve it.",
        ],
    ),
    "a fruit salad": (
        ["2 apples", "1 banana", "1 orange", "a little lemon juice"],
        [
            "Wash and peel the fruit.",
            "Cut it into small pieces.",
            "Mix it with the lemon juice.",
            "Chill it before serving.",
        ],
    ),
    "pasta with tomato sauce": (
        ["250 g pasta", "4 tomatoes", "1 clove of garlic", "olive oil and salt"],
        [
            "Boil the pasta in salted water.",
            "Fry the garlic in the oil.",
            "Add chopped tomatoes and cook for 15 minutes.",
            "Mix the sauce with the pasta.",
        ],
    ),
    "a sandwich": (
        ["2 slices of bread", "cheese", "tomato", "butter"],
        ["Butter the bread.", "Add cheese and slices of tomato.", "Close the sandwich.", "Cut it in half."],
    ),
    "lemonade": (
        ["2 lemons", "1 litre water", "3 spoons of sugar"],
        ["Press the lemons.", "Stir the juice and the sugar into the water.", "Chill it and serve it with ice."],
    ),
    "bread": (
        ["500 g flour", "300 ml warm water", "1 packet of yeast", "salt"],
        [
            "Mix everything and knead the dough.",
            "Let it rise for an hour.",
            "Shape a loaf.",
            "Bake it for about 40 minutes.",
        ],
    ),
}
RHYME_LINES = {
    "the sea": [
        ("The sea is wide and deep and blue,", "It sings a quiet song for you."),
        ("The waves come in, the waves go out,", "The gulls above them wheel and shout."),
        ("A little boat sails far away,", "And dreams of home at end of day."),
    ],
    "the moon": [
        ("The moon looks down with silver light,", "And keeps us company at night."),
        ("It rises slowly, round and pale,", "And paints the river like a sail."),
        ("When all the town has gone to bed,", "It shines on every sleepy head."),
    ],
    "the rain": [
        ("The rain is tapping on the pane,", "It stops a while and starts again."),
        ("The garden drinks, the flowers grow,", "The little rivers start to flow."),
        ("And when the clouds have passed us by,", "A rainbow bends across the sky."),
    ],
    "spring": [
        ("The snow is gone, the fields are green,", "The brightest flowers ever seen."),
        ("The birds are singing in the tree,", "The wind is soft, the brook is free."),
        ("So open doors and windows wide,", "And let the morning come inside."),
    ],
    "winter": [
        ("The snow lies white on field and hill,", "The frozen pond is cold and still."),
        ("Inside, the fire is warm and bright,", "We tell each other tales at night."),
        ("The stars are clear, the air is cold,", "The little house is lit with gold."),
    ],
    "a cat": [
        ("A cat sits on the garden wall,", "She does not move, she hears it all."),
        ("She licks her paw, she blinks her eyes,", "She watches birds and butterflies."),
        ("And when the evening light is low,", "She comes back home with steps so slow."),
    ],
    "a dog": [
        ("My dog runs fast across the park,", "And greets the world with happy bark."),
        ("He brings the ball, he wags his tail,", "He follows every hidden trail."),
        ("At night he sleeps beside my bed,", "With dreams of bones inside his head."),
    ],
    "autumn": [
        ("The leaves turn yellow, brown and red,", "And fall upon the flower bed."),
        ("The wind is cool, the days are short,", "The ships come back into the port."),
        ("We gather apples, nuts and corn,", "And wake to mist at early morn."),
    ],
    "computers": [
        ("A small machine upon my knee,", "It counts and writes and sings for me."),
        ("It never sleeps, it never tires,", "It hums along its tiny wires."),
        ("But when I close the lid at night,", "It dreams in numbers, dark and light."),
    ],
    "a tree": [
        ("A tree stands tall beside the lane,", "It holds the sun, it drinks the rain."),
        ("Its branches give the birds a home,", "Its roots go deep in earth and stone."),
        ("And year by year it grows a ring,", "And wakes again with every spring."),
    ],
    "friendship": [
        ("A friend is someone kind and true,", "Who shares a quiet walk with you."),
        ("Who laughs with you when skies are clear,", "And holds your hand when storms are near."),
        ("So keep your friends and treat them well,", "They have the finest tales to tell."),
    ],
    "the stars": [
        ("The stars are lamps above the town,", "They shine on us and never frown."),
        ("A thousand lights so far away,", "They fade before the break of day."),
        ("I count them till I fall asleep,", "The night is wide, the night is deep."),
    ],
}
EMAIL = [
    (
        "asking for a day off",
        "Request for a day off",
        "I would like to ask for a day off on {day}. I will finish my open tasks before then, and {name2} can help if anything urgent comes up.",
    ),
    (
        "to thank them for their help",
        "Thank you",
        "Thank you very much for your help on {day}. It made a real difference, and I am glad that I could count on you.",
    ),
    (
        "to invite them to a party",
        "Invitation",
        "I would like to invite you to my party on {day} evening. There will be food and music. Please let me know if you can come.",
    ),
    (
        "to say I will be late",
        "Running late",
        "I am sorry, but I will be about {num} minutes late on {day}. Please start without me.",
    ),
    (
        "to move a meeting",
        "New time for our meeting",
        "Could we move our meeting from {day} to {day2}? The same time would suit me well. I am sorry for the short notice.",
    ),
    (
        "to ask for information",
        "A question",
        "Could you please send me more information about the {thing}? I would like to decide before {day}.",
    ),
    (
        "to apologise for a mistake",
        "My apologies",
        "I am sorry for the mistake in my last message. The correct date is {day}. Thank you for your patience.",
    ),
    (
        "to say congratulations",
        "Congratulations",
        "Congratulations on your new job! You worked hard for it, and I am sure that you will do very well. Let us celebrate on {day}.",
    ),
    (
        "to complain about a broken product",
        "Problem with my order",
        "The {thing} that I ordered arrived on {day}, but it is broken. Could you please send a new one or return the money?",
    ),
    (
        "to remind them about a deadline",
        "Friendly reminder",
        "This is a friendly reminder that the report is due on {day}. Please let me know if you need more time.",
    ),
]
