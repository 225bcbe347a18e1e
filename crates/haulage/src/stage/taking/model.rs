//! Every interleaving of movers, a third client, kills, power failures and requests that arrive late: is anything lost?
//!
//! A state is what three names hold and how far each mover has come. From each, every step of everybody is tried, until no state is
//! new. The order of a mover's steps is the code's own, [`next`]; the store is modelled, and what a mover knows. Each rule of the
//! protocol can be left out, and then content is lost: ADR-0015 has the traces.
//!
//! Nobody can keep what is destroyed between a mover's last look and the deletion that follows in the same breath. That is excused, and
//! nothing else is.

use std::collections::{BTreeSet, HashMap};

use super::{Done, Next, Origin, next};
use crate::store::Versions;

/// Bytes, by a number.
type Content = u8;
/// A name, by its place in the list.
type Name = usize;

const NAMES: usize = 3;
const MOVERS: usize = 3;
/// What a third client writes.
const BROUGHT: Content = 9;

/// What a name holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Object {
    seen: Seen,
    /// A power failure leaves it.
    durable: bool,
}

/// What a look tells of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Seen {
    content: Content,
    /// Another one with each write.
    version: u8,
    /// In one request or in parts, as it were: a claim writes it in the other way, so that its ETag is another.
    in_parts: bool,
}

/// A rule of the protocol, which a run may leave out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    /// A copy that was found is claimed.
    Claim,
    /// The source is looked at after that, where conditions cannot tell its versions apart.
    LookAtSource,
    /// The copy is looked at in the same breath.
    LookAtCopy,
    /// A source goes as the version that was copied.
    DeleteOnCondition,
    /// A copy replaces only what was seen.
    WriteOnCondition,
    /// What was written is on the disk before its source goes.
    Flush,
}

/// What takes part.
#[derive(Clone, Copy, Debug)]
struct Scene {
    versions: Versions,
    /// What each name holds in the beginning.
    holds: [Option<Content>; NAMES],
    /// Each moves from a name to a name.
    movers: &'static [(Name, Name)],
    /// How often each is run; each run but the last may be killed.
    runs: u8,
    /// What a third client puts in place of what a name holds, at any time.
    outsider: Option<(Name, Option<Content>)>,
    /// An answer may be lost, so that a mover asks again, and its first request is done late, or never.
    late: bool,
    /// Names are on a disk that loses what was not flushed when the power fails.
    on_disk: bool,
    /// The first two names are one place.
    is_one_place: bool,
    without: Option<Rule>,
}

/// A request on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Request {
    Write { name: Name, content: Content, seen: Option<Seen> },
    Claim { name: Name, seen: Seen },
    Delete { name: Name, seen: Seen },
}

/// A mover that has a copy, and would take the source away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Taking {
    source: Seen,
    copy: Seen,
    origin: Origin,
    done: Done,
    flushed: bool,
}

/// How far a run of a mover has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum At {
    Begin,
    SourceListed { source: Seen },
    BothListed { source: Seen, there: Option<Seen> },
    Copied(Taking),
    Ended,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Mover {
    at: At,
    runs_left: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct State {
    names: [Option<Object>; NAMES],
    movers: [Mover; MOVERS],
    /// A request of which nobody waits for the answer.
    late: Option<Request>,
    outsider_was_here: bool,
    power_failed: bool,
    /// Contents of which nobody could have kept the last copy: a bit for each.
    excused: u16,
    clock: u8,
}

/// What happened.
#[derive(Clone, Copy, Debug)]
#[expect(dead_code, reason = "a trace shows them")]
enum Deed {
    /// A mover, by its number, has come so far.
    Came(usize, At),
    /// It has asked for something, which was done or not.
    Asked(usize, Request, bool),
    /// It got no answer.
    Unanswered(usize, Request),
    Killed(usize),
    /// What was asked for long ago is done.
    Late(Request),
    Dropped(Request),
    Outsider(Name, Option<Content>),
    PowerFails,
}

impl State {
    fn versions(&mut self) -> impl Iterator<Item = &mut u8> {
        let names = self.names.iter_mut().flatten().map(|object| &mut object.seen);
        let movers = self.movers.iter_mut().flat_map(|mover| match &mut mover.at {
            At::Begin | At::Ended => [None, None],
            At::SourceListed { source } => [Some(source), None],
            At::BothListed { source, there } => [Some(source), there.as_mut()],
            At::Copied(Taking { source, copy, .. }) => [Some(source), Some(copy)],
        });
        let late = self.late.iter_mut().filter_map(|request| match request {
            Request::Write { seen, .. } => seen.as_mut(),
            Request::Claim { seen, .. } | Request::Delete { seen, .. } => Some(seen),
        });
        names.chain(movers.flatten()).chain(late).map(|seen| &mut seen.version)
    }

    /// The same with versions called by their order, so that states that differ in nothing else are one.
    fn shortened(mut self) -> Self {
        let known: BTreeSet<u8> = self.versions().map(|version| *version).collect();
        for version in self.versions() {
            *version = 1 + known.range(..*version).count() as u8;
        }
        self.clock = known.len() as u8;
        self
    }

    fn came(mut self, number: usize, at: At) -> (Deed, Self) {
        self.movers[number].at = at;
        (Deed::Came(number, at), self)
    }

    fn excuse(&mut self, content: Content) {
        self.excused |= 1 << content;
    }
}

impl Scene {
    fn has(&self, rule: Rule) -> bool {
        self.without != Some(rule)
    }

    fn first(&self) -> State {
        let mut names = [None; NAMES];
        for (name, held) in self.holds.iter().enumerate() {
            let seen = held.map(|content| Seen { content, version: 1 + name as u8, in_parts: false });
            names[name] = seen.map(|seen| Object { seen, durable: true });
        }
        let idle = Mover { at: At::Ended, runs_left: 0 };
        let mut movers = [idle; MOVERS];
        movers[..self.movers.len()].fill(Mover { at: At::Begin, runs_left: self.runs - 1 });
        let clock = NAMES as u8;
        State { names, movers, late: None, outsider_was_here: false, power_failed: false, excused: 0, clock }
    }

    fn place(&self, name: Name) -> Name {
        if self.is_one_place && name == 1 { 0 } else { name }
    }

    fn there(&self, state: &State, name: Name) -> Option<Seen> {
        state.names[self.place(name)].map(|object| object.seen)
    }

    /// Whether a condition on `seen` is true.
    fn is_as(&self, there: Option<Seen>, seen: Seen) -> bool {
        there.is_some_and(|there| match self.versions.unique {
            true => there.version == seen.version,
            false => (there.content, there.in_parts) == (seen.content, seen.in_parts),
        })
    }

    /// Does what is asked for, if its condition is true: what the name holds then.
    fn done(&self, state: &mut State, request: Request) -> Option<Option<Seen>> {
        let (Request::Write { name, .. } | Request::Claim { name, .. } | Request::Delete { name, .. }) =
            request;
        let there = self.there(state, name);
        let conditions = |rule| self.versions.conditions && self.has(rule);
        let allowed = match request {
            Request::Write { seen: None, .. } => !conditions(Rule::WriteOnCondition) || there.is_none(),
            Request::Write { seen: Some(seen), .. } => {
                !conditions(Rule::WriteOnCondition) || self.is_as(there, seen)
            }
            Request::Claim { seen, .. } => {
                there.is_some() && (!self.versions.conditions || self.is_as(there, seen))
            }
            Request::Delete { seen, .. } => !conditions(Rule::DeleteOnCondition) || self.is_as(there, seen),
        };
        if !allowed {
            return None;
        }
        let (content, in_parts) = match request {
            Request::Write { content, seen, .. } => {
                // Whoever replaces what it has seen was told to.
                if seen
                    .zip(there)
                    .is_some_and(|(seen, there)| seen.content == there.content && content != seen.content)
                {
                    self.destroyed(state, name);
                }
                (Some(content), false)
            }
            Request::Claim { seen, .. } => (there.map(|there| there.content), !seen.in_parts),
            Request::Delete { .. } => (None, false),
        };
        // A claim moves no bytes.
        // What is claimed is flushed with it.
        let durable = !self.on_disk || matches!(request, Request::Claim { .. });
        self.put(state, name, content, in_parts, durable);
        Some(self.there(state, name))
    }

    fn put(&self, state: &mut State, name: Name, content: Option<Content>, in_parts: bool, durable: bool) {
        state.clock += 1;
        let version = state.clock;
        let object = content.map(|content| Object { seen: Seen { content, version, in_parts }, durable });
        state.names[self.place(name)] = object;
        let Some(Object { seen: now, .. }) = object else { return };
        // A deletion that is on its way, and cannot tell this version from the one that it means.
        let means = |of: Name, seen: &Seen| {
            let fits = !self.versions.conditions || self.is_as(Some(now), *seen);
            of == name && seen.version != now.version && fits
        };
        let by_mover = state.movers.iter().zip(self.movers).any(|(mover, (from, _))| match &mover.at {
            At::Copied(Taking { source, done: Done { source_seen: true, .. }, .. }) => means(*from, source),
            _ => false,
        });
        if by_mover || matches!(&state.late, Some(Request::Delete { name, seen }) if means(*name, seen)) {
            state.excuse(now.content);
        }
    }

    /// Somebody who may has destroyed what a name holds: the last of it, or while a mover deletes the other one.
    fn destroyed(&self, state: &mut State, name: Name) {
        let Some(Seen { content, .. }) = self.there(state, name) else { return };
        let is_safe = |(other, object): (Name, &Option<Object>)| {
            other != self.place(name)
                && object.is_some_and(|object| object.durable && object.seen.content == content)
        };
        let is_going = |mover: &Mover| match &mover.at {
            At::Copied(Taking { source, done, .. }) => done.copy_seen && source.content == content,
            _ => false,
        };
        let is_late = matches!(state.late, Some(Request::Delete { seen, .. }) if seen.content == content);
        if is_late || state.movers.iter().any(is_going) || !state.names.iter().enumerate().any(is_safe) {
            state.excuse(content);
        }
    }

    /// Every step from here.
    fn steps(&self, state: &State) -> Vec<(Deed, State)> {
        let mut found = Vec::new();
        for (number, (from, to)) in self.movers.iter().enumerate() {
            let mover = state.movers[number];
            match mover.at {
                At::Ended => {}
                At::Begin => {
                    let listed = self.there(state, *from).map(|source| At::SourceListed { source });
                    found.push(state.came(number, listed.unwrap_or(At::Ended)));
                }
                At::SourceListed { source } => {
                    let there = self.there(state, *to);
                    found.push(state.came(number, At::BothListed { source, there }));
                }
                At::BothListed { source, there } => {
                    let copied = |copy, origin| {
                        At::Copied(Taking { source, copy, origin, done: Done::default(), flushed: false })
                    };
                    match there.filter(|there| there.content == source.content) {
                        Some(copy) => found.push(state.came(number, copied(copy, Origin::Found))),
                        // It is read as the version that was listed.
                        None if !self.is_as(self.there(state, *from), source) => {
                            found.push(state.came(number, At::Ended));
                        }
                        None => {
                            let request = Request::Write { name: *to, content: source.content, seen: there };
                            self.ask(state, number, request, &mut found, |copy| {
                                copied(copy, Origin::Written)
                            });
                        }
                    }
                }
                At::Copied(taking) => self.take(state, number, taking, &mut found),
            }
            if mover.runs_left > 0 && !matches!(mover.at, At::Begin | At::Ended) {
                let mut then = *state;
                then.movers[number] = killed(mover);
                found.push((Deed::Killed(number), then));
            }
        }
        self.steps_of_others(state, &mut found);
        found
    }

    fn take(&self, state: &State, number: usize, taking: Taking, found: &mut Vec<(Deed, State)>) {
        let (from, to) = self.movers[number];
        let Taking { source, copy, origin, mut done, flushed } = taking;
        if self.on_disk && self.has(Rule::Flush) && !flushed {
            let (deed, mut then) = state.came(number, At::Copied(Taking { flushed: true, ..taking }));
            if origin == Origin::Written
                && let Some(object) = &mut then.names[self.place(to)]
            {
                object.durable = true;
            }
            return found.push((deed, then));
        }
        done.claimed |= !self.has(Rule::Claim);
        done.source_seen |= !self.has(Rule::LookAtSource);
        done.copy_seen |= !self.has(Rule::LookAtCopy);
        let on = |done, copy| At::Copied(Taking { done, copy, ..taking });
        let looked = |name, seen, done| {
            let at = if self.there(state, name) == Some(seen) { on(done, copy) } else { At::Ended };
            state.came(number, at)
        };
        match next(Some(origin), self.versions, done) {
            Next::Claim => {
                let request = Request::Claim { name: to, seen: copy };
                self.ask(state, number, request, found, |copy| {
                    on(Done { claimed: true, copy_seen: true, ..done }, copy)
                });
            }
            Next::LookAtSource => found.push(looked(from, source, Done { source_seen: true, ..done })),
            Next::LookAtCopy => found.push(looked(to, copy, Done { copy_seen: true, ..done })),
            Next::Delete => {
                let request = Request::Delete { name: from, seen: source };
                self.ask(state, number, request, found, |_| At::Ended);
            }
        }
    }

    /// A mover asks for something: it is done or refused; or nobody says, and it asks again.
    fn ask(
        &self,
        state: &State,
        number: usize,
        request: Request,
        found: &mut Vec<(Deed, State)>,
        on: impl Fn(Seen) -> At,
    ) {
        let mut then = *state;
        let answer = self.done(&mut then, request);
        then.movers[number].at = answer.flatten().map_or(At::Ended, on);
        found.push((Deed::Asked(number, request, answer.is_some()), then));
        if self.late && state.late.is_none() {
            found.push((Deed::Unanswered(number, request), State { late: Some(request), ..*state }));
        }
    }

    fn steps_of_others(&self, state: &State, found: &mut Vec<(Deed, State)>) {
        if let Some(request) = state.late {
            let dropped = State { late: None, ..*state };
            let mut then = dropped;
            self.done(&mut then, request);
            found.extend([(Deed::Late(request), then), (Deed::Dropped(request), dropped)]);
        }
        if let Some((name, content)) = self.outsider.filter(|_| !state.outsider_was_here) {
            let mut then = State { outsider_was_here: true, ..*state };
            self.destroyed(&mut then, name);
            self.put(&mut then, name, content, false, true);
            found.push((Deed::Outsider(name, content), then));
        }
        if self.on_disk && !state.power_failed {
            let mut then = State { power_failed: true, ..*state };
            then.names = then.names.map(|object| object.filter(|object| object.durable));
            then.movers = then.movers.map(killed);
            found.push((Deed::PowerFails, then));
        }
    }

    /// Whether something is lost, and nobody was told to destroy it.
    fn loses(&self, state: &State) -> bool {
        let brought = self.outsider.filter(|_| state.outsider_was_here).and_then(|(_, content)| content);
        let held = self.holds.iter().flatten().copied().chain(brought);
        let is_lost = |content: Content| {
            let is_there = state.names.iter().flatten().any(|object| object.seen.content == content);
            !is_there && state.excused & (1 << content) == 0
        };
        held.into_iter().any(is_lost)
    }

    /// Whether a mover that is run once more, with nobody beside it, comes to its end: its source is moved, or is its own destination.
    fn ends(&self, state: &State, number: usize) -> bool {
        let alone = Scene { late: false, outsider: None, on_disk: false, ..*self };
        let mut state = State { late: None, movers: alone.first().movers, ..*state };
        state.movers = state.movers.map(|_| Mover { at: At::Ended, runs_left: 0 });
        state.movers[number].at = At::Begin;
        for _ in 0..16 {
            if state.movers[number].at == At::Ended {
                let (from, to) = self.movers[number];
                return self.place(from) == self.place(to) || self.there(&state, from).is_none();
            }
            state = alone.steps(&state)[0].1;
        }
        false
    }

    /// Tries all that may happen: how many states there are, and how something is lost, or a run cannot end.
    fn explore(&self) -> (usize, Option<Vec<Deed>>) {
        let first = self.first().shortened();
        let mut numbers = HashMap::from([(first, 0)]);
        let mut reached = vec![(first, None)];
        let mut at = 0;
        while let Some((state, _)) = reached.get(at).copied() {
            let quiet = state.late.is_none() && state.movers.iter().all(|mover| mover.at == At::Ended);
            let stuck = quiet
                && self.without.is_none()
                && !(0..self.movers.len()).all(|number| self.ends(&state, number));
            if stuck || self.loses(&state) {
                let mut deeds = Vec::new();
                let mut from = at;
                while let (_, Some((before, deed))) = reached[from] {
                    deeds.push(deed);
                    from = before;
                }
                deeds.reverse();
                return (reached.len(), Some(deeds));
            }
            for (deed, then) in self.steps(&state) {
                let then = then.shortened();
                numbers.entry(then).or_insert_with(|| {
                    reached.push((then, Some((at, deed))));
                    reached.len()
                });
            }
            at += 1;
        }
        (reached.len(), None)
    }
}

/// It is killed; if it may, it begins again.
fn killed(mover: Mover) -> Mover {
    let at = if mover.runs_left > 0 { At::Begin } else { At::Ended };
    Mover { at, runs_left: mover.runs_left.saturating_sub(1) }
}

/// With conditions on versions: Azure, and a disk, on which a name is taken and then judged.
const BY_VERSION: Versions = Versions { conditions: true, unique: true };
/// With conditions on an ETag that the same bytes may have again: S3.
const BY_CONTENT: Versions = Versions { conditions: true, unique: false };
/// Nothing but looks.
const WITHOUT: Versions = Versions { conditions: false, unique: false };

const OPPOSITE: &[(Name, Name)] = &[(0, 1), (1, 0)];
const TO_ONE: &[(Name, Name)] = &[(0, 2), (1, 2)];

fn scene(versions: Versions, holds: [Content; NAMES], movers: &'static [(Name, Name)]) -> Scene {
    let holds = holds.map(|content| (content > 0).then_some(content));
    let (late, on_disk, is_one_place) = (false, false, false);
    Scene { versions, holds, movers, runs: 2, outsider: None, late, on_disk, is_one_place, without: None }
}

/// One mover and two, equal, opposite and crossing, with the same content and with another at each name.
fn scenes(versions: Versions) -> impl Iterator<Item = Scene> {
    let movers: [&[(Name, Name)]; 6] =
        [&[(0, 1)], &[(0, 1), (0, 1)], OPPOSITE, TO_ONE, &[(0, 1), (1, 2)], &[(0, 1), (0, 2)]];
    let holds = [[1, 0, 0], [1, 1, 0], [1, 2, 0], [1, 1, 1], [1, 2, 1], [1, 2, 2], [1, 2, 3]];
    movers.into_iter().flat_map(move |movers| holds.map(|holds| scene(versions, holds, movers)))
}

/// The same where names are two of one place.
fn at_one_place(versions: Versions) -> impl Iterator<Item = Scene> {
    let one = move |movers| Scene { is_one_place: true, ..scene(versions, [1, 0, 0], movers) };
    [&[(0, 1)][..], OPPOSITE, &[(0, 1), (1, 2)]].into_iter().map(one)
}

/// All of these, where each run may be killed, `late` requests, a third client, and power that fails.
fn all(runs_beside_others: u8) -> impl Iterator<Item = Scene> {
    let beside = move |scene: Scene| {
        let mut many = vec![scene, scene];
        (many[1].late, many[1].runs) = (true, 1);
        for deed in (0..NAMES).flat_map(|name| [(name, None), (name, Some(BROUGHT))]) {
            many.push(Scene { outsider: Some(deed), runs: runs_beside_others, ..scene });
        }
        many
    };
    let services = [BY_VERSION, BY_CONTENT].into_iter().flat_map(scenes).flat_map(beside);
    let disks = scenes(BY_VERSION).map(|scene| Scene { on_disk: true, ..scene });
    let one_place = [BY_VERSION, BY_CONTENT, WITHOUT].into_iter().flat_map(at_one_place);
    services.chain(disks).chain(one_place)
}

fn explore(scenes: impl Iterator<Item = Scene>) -> (usize, Option<(Scene, Vec<Deed>)>) {
    let mut states = 0;
    for scene in scenes {
        let (count, loss) = scene.explore();
        states += count;
        if let Some(loss) = loss {
            return (states, Some((scene, loss)));
        }
    }
    (states, None)
}

#[test]
fn nothing_is_lost_in_any_order_and_each_run_ends() {
    let (states, loss) = explore(all(1));
    assert!(loss.is_none(), "{loss:#?}");
    assert!(states > 200_000, "{states} are not all");
}

#[test]
#[ignore = "explores over a million states, for make long"]
fn nothing_is_lost_where_a_third_client_and_kills_come_together() {
    let (states, loss) = explore(all(2));
    assert!(loss.is_none(), "{loss:#?}");
    assert!(states > 1_000_000, "{states} are not all");
}

#[test]
fn each_rule_is_needed() {
    use Rule::{Claim, DeleteOnCondition, Flush, LookAtCopy, LookAtSource, WriteOnCondition};
    for rule in [Claim, LookAtCopy, LookAtSource, DeleteOnCondition, WriteOnCondition, Flush] {
        let (states, loss) = explore(all(1).map(|scene| Scene { without: Some(rule), ..scene }));
        assert!(loss.is_some(), "nothing is lost without {rule:?} in {states} states");
    }
}

#[test]
fn without_conditions_only_movers_to_one_name_and_a_third_client_can_lose() {
    let apart = scenes(WITHOUT).filter(|scene| {
        scene
            .movers
            .iter()
            .enumerate()
            .all(|(number, (_, to))| !scene.movers[..number].iter().any(|(_, other)| other == to))
    });
    let (_, loss) = explore(apart);
    assert!(loss.is_none(), "{loss:#?}");
    assert!(scene(WITHOUT, [1, 2, 0], TO_ONE).explore().1.is_some());
}
