#!/usr/bin/env bash
# home.sh HOME: makes a home folder for programs over GNUstep: settings that look like a Mac (menu bar on top, light colours,
# Inter), the service's bundle, and accounts for libnss_wrapper, because GNUstep asks the account and not $HOME.
set -eu
. "$(dirname "$0")/flags.sh"
home=$1
defaults=$home/GNUstep/Defaults
mkdir -p "$home"/GNUstep/{Defaults,Applications,Library/Services}
chmod 700 "$home" "$home/GNUstep" "$defaults"
echo "$(id -un):x:$(id -u):$(id -g)::$home:/bin/sh" > "$home/passwd"
echo "$(id -gn):x:$(id -g):" > "$home/group"
app=$home/GNUstep/Applications/Sotto.app # for make_services, which follows no links to folders
mkdir -p "$app/Resources"
cp "$rig/Info-gnustep.plist" "$app/Resources/"
[ "$app/Sotto" -ef "$work/Sotto.app/Sotto" ] || ln -sf "$work/Sotto.app/Sotto" "$app/Sotto"
{
  echo '{'
  set_() { echo "  $1 = \"$2\";"; }
  for k in NSMenu NSScroller NSScrollView; do set_ "${k}InterfaceStyle" NSMacintoshInterfaceStyle; done
  set_ GSSuppressAppIcon YES
  set_ GSBackHandlesWindowDecorations NO
  set_ GSScrollerDefaultWidth 12
  set_ GSScrollViewNoInnerBorder YES
  for k in NSFont NSUserFont NSMenuFont NSMenuBarFont NSMessageFont NSLabelFont NSControlContentFont NSToolTipsFont \
    NSPaletteFont; do
    set_ "$k" Inter-Regular
    set_ "${k}Size" 13
  done
  for k in NSBoldFont NSTitleBarFont; do
    set_ "$k" Inter-SemiBold
    set_ "${k}Size" 13
  done
  set_ NSUserFixedPitchFont DejaVuSansMono
  set_ NSUserFixedPitchFontSize 12
  echo '  NSPreferredFonts = ("Inter-Regular", "DejaVuSans", "NotoSansCJKjp-Regular");'
  color() { set_ "$1Color" "$2"; }
  for k in windowBackground control header; do color $k "0.96 0.96 0.96"; done
  for k in controlBackground rowBackground textBackground highlight; do color $k "1 1 1"; done
  color alternateRowBackground "0.97 0.97 0.97"
  color controlShadow "0.80 0.80 0.80"
  color controlDarkShadow "0.88 0.88 0.88"
  color controlHighlight "0.96 0.96 0.96"
  color controlLightHighlight "0.90 0.90 0.90"
  color shadow "0.6 0.6 0.6"
  color grid "0.92 0.92 0.92"
  color scrollBar "0.97 0.97 0.97"
  color knob "0.80 0.80 0.80"
  color selectedKnob "0.7 0.7 0.7"
  color selectedControl "0.80 0.89 1"
  color secondarySelectedControl "0.87 0.87 0.87"
  color alternateSelectedControl "0 0.48 1"
  color selectedTextBackground "0.70 0.84 1"
  color selectedMenuItem "0.16 0.5 0.96"
  color selectedMenuItemText "1 1 1"
  color windowFrame "0.90 0.90 0.90"
  color windowFrameText "0.2 0.2 0.2"
  color keyboardFocusIndicator "0.4 0.65 1"
  color label "0.11 0.11 0.12"
  color secondaryLabel "0.45 0.45 0.47"
  color systemRed "0.75 0.15 0.12"
  color disabledControlText "0.6 0.6 0.6"
  echo '}'
} > "$defaults/NSGlobalDomain.plist"
