"""GPUs that can be cut, as the hardware has them: which instances fit beside which, and what the driver
makes of a list of profiles. From NVIDIA's MIG user guide; shares nothing with sliced."""

import collections
import itertools

# A profile on a GPU: memory slices at which it may start, how many it covers, instances at most.
Profile = collections.namedtuple("Profile", "starts size most")

SEVEN = {"1g": Profile(range(7), 1, 7), "1g+": Profile((0, 2, 4, 6), 2, 4),
         "2g": Profile((0, 2, 4), 2, 3), "3g": Profile((0, 4), 4, 2), "4g": Profile((0,), 4, 1),
         "7g": Profile((0,), 8, 1)}
FOUR = {"1g": Profile(range(4), 1, 4), "2g": Profile((0, 2), 2, 2), "4g": Profile((0,), 4, 1)}


class NoPlace(Exception):
    """The driver says: insufficient resources."""


class InUse(Exception):
    """The driver says: in use by another client."""


class Model:
    def __init__(self, product, mib, shapes, gigabytes):
        """gigabytes: those in the name of each shape's profile, in the order of shapes."""
        self.product = product
        self.mib = mib
        self.profiles = {f"{shape.rstrip('+')}.{gb}gb": place
                         for (shape, place), gb in zip(shapes.items(), gigabytes)}

    def maximal(self):
        """The layouts to which nothing can be added, each a sorted tuple of (start, profile)."""
        return [each for each in self.layouts() if not any(
            self.fits(each, profile, start)
            for profile, place in self.profiles.items() for start in place.starts)]

    def layouts(self):
        """All of them, the empty one too, each a sorted tuple of (start, profile)."""
        found = {()}
        fresh = [()]
        while fresh:
            fresh = {tuple(sorted((*each, (start, profile)))) for each in fresh
                     for profile, place in self.profiles.items() for start in place.starts
                     if self.fits(each, profile, start)}
            found |= fresh
        return found

    def fits(self, layout, profile, start):
        place = self.profiles[profile]
        covered = set(range(start, start + place.size))
        return sum(other == profile for _, other in layout) < place.most and not any(
            covered & set(range(at, at + self.profiles[other].size)) for at, other in layout)


A30 = Model("NVIDIA-A30", 24576, FOUR, (6, 12, 24))
A100 = Model("NVIDIA-A100-SXM4-40GB", 40960, SEVEN, (5, 10, 10, 20, 20, 40))
A100_80 = Model("NVIDIA-A100-SXM4-80GB", 81920, SEVEN, (10, 20, 20, 40, 40, 80))
H100 = Model("NVIDIA-H100-80GB-HBM3", 81559, SEVEN, (10, 20, 20, 40, 40, 80))


class Instance:
    """One MIG instance, from its creation to its end: another at the same place is another one. Or a slice
    of memory, which has a size in the profile's place and no start."""
    numbers = itertools.count(1)

    def __init__(self, gpu, profile, start):
        self.number = next(self.numbers)
        self.gpu = gpu
        self.profile = profile
        self.start = start
        self.pod = None  # uid of the pod which has it

    def __repr__(self):
        return f"{self.profile} at {self.gpu.index}/{self.start} (no. {self.number})"


class Gpu:
    def __init__(self, index, model, profiles=()):
        self.index = index
        self.model = model
        self.mig = True  # is MIG mode on?
        self.pod = None  # uid of the pod which has all of it
        self.instances = []
        self.create(profiles)

    def layout(self):
        return [(each.start, each.profile) for each in self.instances]

    def counts(self):
        return collections.Counter(each.profile for each in self.instances)

    def place(self, profile):
        """The driver's own choice: the last place that is free. It looks no further ahead, and so may
        leave no room for what comes next."""
        starts = [start for start in self.model.profiles[profile].starts
                  if self.model.fits(self.layout(), profile, start)]
        if not self.mig or not starts:
            raise NoPlace(f"{profile} on GPU {self.index} beside {self.instances}")
        made = Instance(self, profile, max(starts))
        self.instances.append(made)
        return made

    def create(self, profiles):
        """Instances of all those profiles, in the first order that the driver takes. In none: NoPlace,
        and what was there before is there."""
        before = list(self.instances)
        for order in orders(collections.Counter(profiles)):
            try:
                return [self.place(profile) for profile in order]
            except NoPlace:
                self.instances = list(before)
        raise NoPlace(f"{sorted(profiles)} on GPU {self.index} beside {before}")

    def destroy(self, instance):
        if instance.pod is not None:
            raise InUse(f"{instance} is {instance.pod}'s")
        self.instances.remove(instance)


def orders(counts):
    """Each order of a multiset once."""
    if not counts:
        yield ()
    for each in list(counts):
        for rest in orders(counts - collections.Counter([each])):
            yield (each, *rest)
