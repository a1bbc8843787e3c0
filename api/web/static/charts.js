// Charts are drawn from the tables in the page, which stay for whoever wants the numbers. Without this the tables
// are all there is.
(function () {
  'use strict';
  var plots = [];

  function colour(name) { return getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim(); }

  function took(ms) {
    if (ms === null || ms === undefined) return '';
    if (ms < 1000) return Math.round(ms) + ' ms';
    if (ms < 60000) return +(ms / 1000).toFixed(1) + ' s';
    if (ms < 3600000) return +(ms / 60000).toFixed(1) + ' min';
    return +(ms / 3600000).toFixed(1) + ' h';
  }

  // What lies between two lines of an axis of lengths of time: such that each is a round number of its unit.
  var lengths = [1, 2, 5, 10, 20, 50, 100, 200, 500].concat(
    [1, 2, 5, 10, 15, 30].map(function (s) { return s * 1000; }),
    [1, 2, 5, 10, 15, 30].map(function (m) { return m * 60000; }),
    [1, 2, 3, 6, 12, 24].map(function (h) { return h * 3600000; }));

  // read gives the columns of a table: the instants, then each series.
  function read(figure) {
    var heads = figure.querySelectorAll('thead th[data-colour]');
    var data = [[]];
    heads.forEach(function () { data.push([]); });
    figure.querySelectorAll('tbody tr').forEach(function (row) {
      data[0].push(+row.getAttribute('data-at'));
      row.querySelectorAll('td').forEach(function (cell, i) {
        var value = cell.getAttribute('data-value');
        data[i + 1].push(value === null ? null : +value);
      });
    });
    return {heads: heads, data: data};
  }

  // pile adds each series to the ones below it, so that bars stand on each other. The last one is drawn first.
  function pile(data) {
    var sums = data[0].map(function () { return 0; });
    return [data[0]].concat(data.slice(1).map(function (column) {
      return column.map(function (value, i) { sums[i] += value || 0; return sums[i]; });
    }));
  }

  function draw(figure) {
    var at = figure.querySelector('.plot'), table = read(figure);
    if (!at || !table.data[0].length || !window.uPlot) return;
    at.hidden = false;
    at.textContent = '';
    var stacked = figure.getAttribute('data-bars') === 'stacked', ms = figure.getAttribute('data-unit') === 'ms';
    var zone = figure.getAttribute('data-zone'), step = +figure.getAttribute('data-step');
    var shown = stacked ? pile(table.data) : table.data;
    var order = Array.from(table.heads, function (h, i) { return i; });
    if (stacked) order.reverse();
    var write = ms ? took : function (n) { return n === null || n === undefined ? '' : n.toLocaleString('en'); };
    var axis = {stroke: colour('quiet'), grid: {stroke: colour('line'), width: 1}, ticks: {stroke: colour('line')}};
    var first = shown[0][0], last = shown[0][shown[0].length - 1];
    var options = {
      width: Math.max(at.clientWidth, 200), height: 180,
      tzDate: function (ts) { return uPlot.tzDate(new Date(ts * 1000), zone === 'UTC' ? 'Etc/UTC' : zone); },
      cursor: {drag: {x: false, y: false}, points: {show: !stacked}},
      scales: {
        x: {range: [first - step / 2, last + step]},
        y: {range: function (u, min, max) { return [0, Math.max(max * 1.1, ms ? 10 : 4)]; }}
      },
      axes: [
        Object.assign({values: '{HH}:{mm}', space: 60}, axis),
        Object.assign(ms ? {incrs: lengths} : {}, {size: 62, values: function (u, ticks) { return ticks.map(function (n) { return n % 1 ? '' : write(n); }); }}, axis)
      ],
      series: [{label: 'From', value: '{YYYY}-{MM}-{DD} {HH}:{mm}'}].concat(order.map(function (i) {
        var head = table.heads[i], stroke = colour(head.getAttribute('data-colour'));
        var series = {
          label: head.textContent, stroke: stroke, width: stacked ? 0 : 2, points: {show: !stacked, size: 4, fill: stroke},
          value: function (u, v, s, at) { return at === null ? '' : write(table.data[i + 1][at]); }
        };
        if (stacked) {
          series.fill = stroke;
          series.paths = uPlot.paths.bars({size: [0.8, 24], align: 1});
        }
        return series;
      }))
    };
    plots.push(new uPlot(options, [shown[0]].concat(order.map(function (i) { return shown[i + 1]; })), at));
  }

  function drawAll() {
    plots.forEach(function (p) { p.destroy(); });
    plots = [];
    document.querySelectorAll('figure.chart').forEach(draw);
  }

  var width = 0;
  document.addEventListener('nightshift:shown', drawAll);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawAll);
  addEventListener('resize', function () {
    if (width !== document.documentElement.clientWidth) { width = document.documentElement.clientWidth; drawAll(); }
  });
  width = document.documentElement.clientWidth;
  drawAll();
})();
